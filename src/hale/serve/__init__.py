"""Serve: a run's answers for programs and for pages, over HTTP and to agents.

service    the questions a loaded run answers, each as a dict ready for JSON
finder     the entities that a typed text may mean
asking     questions computed in threads: how many, how long, given up when nobody waits
gathering  queries that arrive together, answered in one pass
access     who may ask: token, cookie, Host and Origin, and the headers of every answer
problems   errors as application/problem+json, in the words of the command line
asked      what a request may hold
told       what is answered, as the OpenAPI document declares it
rest       the operations below /api/v1
openapi    the document, from those declarations
listening  an address, and the server behind it
agents     the Model Context Protocol
app        all of it as one ASGI application
front      the pages before the run is loaded, and all of it after
map        where every entity lies, in which colour, and how clusters are called
pages      the views of hale explore
review     what people decided about missing facts
upgrade    the accepted ones brought into the run
"""
