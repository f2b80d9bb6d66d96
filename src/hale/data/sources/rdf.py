"""RDF -> rows: N-Triples, N-Quads, Turtle, TriG and RDF/XML (extra 'rdf')."""

from __future__ import annotations

import polars as pl

from hale.errors import MissingExtraError, SourceError

SUFFIXES = {
    ".nt": "N_TRIPLES",
    ".nq": "N_QUADS",
    ".ttl": "TURTLE",
    ".trig": "TRIG",
    ".rdf": "RDF_XML",
    ".owl": "RDF_XML",
}
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


def read_rdf(
    data: bytes, source: str, *, suffix: str
) -> tuple[pl.DataFrame, dict[str, str], tuple[str, ...]]:
    """Statements between resources -> (rows, labels, notes).

    A resource is named by its IRI, a blank node as ``_:id``. Literals are not
    entities: ``rdfs:label`` gives names, and other statements with a literal
    are left out and counted in the notes. Of quads the graph is not looked at.
    """
    try:
        import pyoxigraph as ox
    except ImportError:
        raise MissingExtraError("Reading RDF", "rdf") from None

    if not data.strip():
        raise SourceError("is empty", source=source)
    form = getattr(ox.RdfFormat, SUFFIXES[suffix])
    heads: list[str] = []
    relations: list[str] = []
    tails: list[str] = []
    labels: dict[str, str] = {}
    literals, graphs = 0, set()
    try:
        for quad in ox.parse(data, format=form):
            if isinstance(quad.object, ox.Literal):
                literals += 1
                if quad.predicate.value == LABEL:
                    english = quad.object.language in (None, "en")
                    name = _name(quad.subject)
                    if english or name not in labels:
                        labels[name] = quad.object.value
                continue
            graphs.add(quad.graph_name)
            heads.append(_name(quad.subject))
            relations.append(quad.predicate.value)
            tails.append(_name(quad.object))
    except SyntaxError as error:
        raise SourceError(f"{error.msg}", source=source, line=error.lineno) from None
    except ValueError as error:
        raise SourceError(f"{error}", source=source) from None

    rows = pl.DataFrame(
        {"head": heads, "relation": relations, "tail": tails},
        schema=dict.fromkeys(("head", "relation", "tail"), pl.String),
    )
    other = literals - len(labels)
    notes = []
    if other > 0:
        notes.append(f"{source}: {other:,} statements with a literal were left out (not entities)")
    if len(graphs) > 1:
        notes.append(f"{source}: the statements of {len(graphs):,} graphs were read as one graph")
    return rows, labels, tuple(notes)


def _name(node: object) -> str:
    value = getattr(node, "value", None)
    if value is None:  # a quoted triple (RDF-star) has no name of its own
        return str(node)
    return f"_:{value}" if type(node).__name__ == "BlankNode" else str(value)
