"""Every family of kernels in the order in which they are asked, by language. To add one: a folder, and a row here."""

from kernelwright.propose.author.families.attention.cost import attention_cost
from kernelwright.propose.author.families.attention.plan import matched as attention_matched
from kernelwright.propose.author.families.attention.schedule import (
    AttentionSchedule,
    attention_default,
    attention_space,
)
from kernelwright.propose.author.families.attention.triton import write_triton as write_attention
from kernelwright.propose.author.families.family import Family
from kernelwright.propose.author.families.histogram.cost import histogram_cost
from kernelwright.propose.author.families.histogram.plan import matched as histogram_matched
from kernelwright.propose.author.families.histogram.schedule import (
    HistogramSchedule,
    histogram_default,
    histogram_space,
)
from kernelwright.propose.author.families.histogram.triton import write_triton as write_histogram
from kernelwright.propose.author.families.order.cost import order_cost
from kernelwright.propose.author.families.order.cpp import write_cpp as write_sort_loops
from kernelwright.propose.author.families.order.cpp_schedule import sort_options, sort_start
from kernelwright.propose.author.families.order.plan import matched as order_matched
from kernelwright.propose.author.families.order.plan import matched_on_gpu as order_matched_on_gpu
from kernelwright.propose.author.families.order.schedule import OrderSchedule, order_default, order_space
from kernelwright.propose.author.families.order.triton import write_triton as write_order
from kernelwright.propose.author.families.product.cost import product_cost
from kernelwright.propose.author.families.product.cpp import scratch
from kernelwright.propose.author.families.product.cpp import write_cpp as write_panels
from kernelwright.propose.author.families.product.cpp_schedule import (
    PanelSchedule,
    panel_cost,
    panel_default,
    panel_space,
)
from kernelwright.propose.author.families.product.plan import matched as product_matched
from kernelwright.propose.author.families.product.plan import matched_on_gpu as product_matched_on_gpu
from kernelwright.propose.author.families.product.schedule import ProductSchedule, product_default, product_space
from kernelwright.propose.author.families.product.triton import write_triton as write_product
from kernelwright.propose.author.families.scan.cost import scan_cost
from kernelwright.propose.author.families.scan.cpp import scan_options, scan_start
from kernelwright.propose.author.families.scan.cpp import write_cpp as write_scan_loops
from kernelwright.propose.author.families.scan.plan import matched as scan_matched
from kernelwright.propose.author.families.scan.schedule import ScanSchedule, scan_default, scan_space
from kernelwright.propose.author.families.scan.triton import write_triton as write_scan
from kernelwright.propose.author.families.strided.cost import strided_cost
from kernelwright.propose.author.families.strided.cpp import write_cpp as write_loops
from kernelwright.propose.author.families.strided.cpp_schedule import (
    CpuSchedule,
    LoopSchedule,
    loop_cost,
    loop_default,
    loop_space,
)
from kernelwright.propose.author.families.strided.plan import matched as strided_matched
from kernelwright.propose.author.families.strided.plan import matched_on_cpu as strided_matched_on_cpu
from kernelwright.propose.author.families.strided.schedule import StridedSchedule, strided_default, strided_space
from kernelwright.propose.author.families.strided.triton import write_triton as write_strided

TRITON: tuple[Family, ...] = (
    Family("order", order_matched_on_gpu, OrderSchedule, order_default, order_space, order_cost, write_order),
    Family(
        "attention",
        attention_matched,
        AttentionSchedule,
        attention_default,
        attention_space,
        attention_cost,
        write_attention,
    ),
    Family("scan", scan_matched, ScanSchedule, scan_default, scan_space, scan_cost, write_scan),
    Family(
        "product",
        product_matched_on_gpu,
        ProductSchedule,
        product_default,
        product_space,
        product_cost,
        write_product,
    ),
    Family(
        "histogram",
        histogram_matched,
        HistogramSchedule,
        histogram_default,
        histogram_space,
        histogram_cost,
        write_histogram,
    ),
    Family("strided", strided_matched, StridedSchedule, strided_default, strided_space, strided_cost, write_strided),
)
"""Families of Triton."""
CPP: tuple[Family, ...] = (
    Family("order", order_matched, CpuSchedule, sort_start, sort_options, loop_cost, write_sort_loops),
    Family("scan", scan_matched, CpuSchedule, scan_start, scan_options, loop_cost, write_scan_loops),
    Family("product", product_matched, PanelSchedule, panel_default, panel_space, panel_cost, write_panels, scratch),
    Family("loops", strided_matched_on_cpu, LoopSchedule, loop_default, loop_space, loop_cost, write_loops),
)
"""Families of C++."""
