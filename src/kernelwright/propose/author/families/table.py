"""Every family of kernels in the order in which they are asked, by language. To add one: a folder or a file, and a row."""

from kernelwright.propose.author.families.attention.triton import ATTENTION
from kernelwright.propose.author.families.family import Family
from kernelwright.propose.author.families.histogram import HISTOGRAM
from kernelwright.propose.author.families.order.cpp import ORDER_LOOPS
from kernelwright.propose.author.families.order.triton import ORDER
from kernelwright.propose.author.families.product.cpp import PRODUCT_LOOPS
from kernelwright.propose.author.families.product.triton import PRODUCT
from kernelwright.propose.author.families.rows.cpp import ROW_LOOPS
from kernelwright.propose.author.families.rows.triton import ROWS
from kernelwright.propose.author.families.scan.cpp import SCAN_LOOPS
from kernelwright.propose.author.families.scan.triton import SCAN
from kernelwright.propose.author.families.strided.cpp import STRIDED_LOOPS
from kernelwright.propose.author.families.strided.triton import STRIDED

TRITON: tuple[Family, ...] = (ROWS, ORDER, ATTENTION, SCAN, PRODUCT, HISTOGRAM, STRIDED)
"""Families of Triton."""
CPP: tuple[Family, ...] = (ROW_LOOPS, ORDER_LOOPS, SCAN_LOOPS, PRODUCT_LOOPS, STRIDED_LOOPS)
"""Families of C++."""
