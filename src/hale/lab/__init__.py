"""Lab: measurements, and the paper's tables and figures.

bench/   what a kernel, a step, a ranking cost, and a race against others
paper/   tables and figures, declared, filled cell by cell, and rendered
"""
