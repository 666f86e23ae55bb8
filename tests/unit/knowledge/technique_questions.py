# ruff: noqa: E501
"""Questions as a search or a person asks them, with the techniques that an expert would try first.

Each is (bottleneck, operator family, kind, language, words): the profile's word, what the task computes, where, in what,
and what was added in words, mostly nothing.
"""

Q = [
    # Sums and other reductions.
    (("launch", "reduction", "cuda", "cuda", ""), "avoid-atomics split-reduction grid-stride-persistent fused-passes"),
    (
        ("launch", "reduction", "cuda", "triton", ""),
        "split-reduction grid-stride-persistent fused-passes rows-per-program",
    ),
    (
        ("memory", "reduction", "cuda", "cuda", ""),
        "vectorised-loads coalesced-access grid-stride-persistent row-in-registers fused-passes",
    ),
    (
        ("memory", "reduction", "cuda", "triton", ""),
        "eviction-hints row-in-registers fused-passes thread-coarsening grid-stride-persistent",
    ),
    (
        ("memory", "reduction", "cpu", "cpp", ""),
        "fused-passes cache-blocking threads-over-rows streaming-stores loop-interchange",
    ),
    (
        ("compute", "reduction", "cpu", "cpp", ""),
        "simd-reduction independent-accumulators threads-over-rows loop-unrolling reduced-precision-sum",
    ),
    (
        ("latency", "reduction", "cuda", "cuda", ""),
        "warp-shuffle-reduction avoid-atomics split-reduction independent-accumulators block-per-row warp-per-row thread-per-row",
    ),
    (
        ("latency", "reduction", "cuda", "triton", ""),
        "split-reduction warps-and-stages rows-per-program block-per-row thread-coarsening avoid-atomics thread-per-row",
    ),
    (("uncoalesced", "reduction", "cuda", "cuda", ""), "coalesced-access block-per-row warp-per-row sub-warp-per-row"),
    (
        ("occupancy", "reduction", "cuda", "cuda", ""),
        "block-size split-reduction block-per-row occupancy-by-less-state warp-per-row",
    ),
    (("tail", "reduction", "cuda", "cuda", ""), "split-reduction grid-stride-persistent avoid-atomics"),
    (
        ("latency", "reduction", "cpu", "cpp", ""),
        "independent-accumulators privatised-partials simd-reduction threads-over-rows",
    ),
    # Products.
    (("compute", "contraction", "cuda", "cuda", ""), "tensor-cores-wmma register-blocking shared-memory-tiling"),
    (("compute", "contraction", "cuda", "triton", ""), "tensor-cores-dot"),
    (
        ("compute", "contraction", "cpu", "cpp", ""),
        "register-tiling-cpu cache-blocking simd-reduction loop-interchange threads-over-rows",
    ),
    (
        ("memory", "contraction", "cuda", "cuda", ""),
        "shared-memory-tiling register-blocking vectorised-loads coalesced-access fused-epilogue",
    ),
    (
        ("memory", "contraction", "cuda", "triton", ""),
        "grouped-block-order fused-epilogue eviction-hints tensor-cores-dot",
    ),
    (
        ("memory", "contraction", "cpu", "cpp", ""),
        "cache-blocking register-tiling-cpu loop-interchange threads-over-rows",
    ),
    (
        ("latency", "contraction", "cuda", "cuda", ""),
        "async-copy-double-buffering shared-memory-tiling split-k register-blocking warp-per-row loop-unrolling",
    ),
    (("latency", "contraction", "cuda", "triton", ""), "warps-and-stages split-k thread-per-row"),
    (("bank_conflicts", "contraction", "cuda", "cuda", ""), "bank-conflict-padding"),
    (("uncoalesced", "contraction", "cuda", "cuda", ""), "coalesced-access shared-memory-tiling warp-per-row"),
    (("occupancy", "contraction", "cuda", "cuda", ""), "block-size split-k occupancy-by-less-state warp-per-row"),
    (("spills", "contraction", "cuda", "cuda", ""), "occupancy-by-less-state register-blocking"),
    (("spills", "contraction", "cuda", "triton", ""), "occupancy-by-less-state warps-and-stages"),
    (("tail", "contraction", "cuda", "triton", ""), "split-k grid-stride-persistent grouped-block-order"),
    (
        ("launch", "contraction", "cuda", "cuda", ""),
        "fused-epilogue fused-element-wise-launches grid-stride-persistent",
    ),
    # Rows that are normalised.
    (("memory", "normalisation", "cuda", "cuda", ""), "row-in-registers online-softmax fused-passes coalesced-access"),
    (("memory", "normalisation", "cuda", "triton", ""), "row-in-registers online-softmax fused-passes"),
    (("memory", "normalisation", "cpu", "cpp", ""), "fused-passes online-softmax cache-blocking threads-over-rows"),
    (
        ("compute", "normalisation", "cpu", "cpp", ""),
        "vectorised-exponential simd-reduction online-softmax threads-over-rows independent-accumulators",
    ),
    (
        ("latency", "normalisation", "cuda", "cuda", ""),
        "warp-shuffle-reduction block-per-row independent-accumulators warp-per-row row-in-registers thread-per-row",
    ),
    (
        ("occupancy", "normalisation", "cuda", "triton", ""),
        "rows-per-program warps-and-stages block-per-row split-reduction occupancy-by-less-state block-size",
    ),
    (("launch", "normalisation", "cuda", "triton", ""), "rows-per-program fused-passes grid-stride-persistent"),
    (("uncoalesced", "normalisation", "cuda", "cuda", ""), "coalesced-access block-per-row warp-per-row"),
    # Element by element.
    (("launch", "pointwise", "cuda", "triton", ""), "fused-element-wise-launches"),
    (("launch", "pointwise", "cuda", "cuda", ""), "fused-element-wise-launches grid-stride-persistent"),
    (
        ("memory", "pointwise", "cuda", "cuda", ""),
        "vectorised-loads coalesced-access streaming-stores fused-element-wise-launches",
    ),
    (("memory", "pointwise", "cuda", "triton", ""), "fused-element-wise-launches eviction-hints thread-coarsening"),
    (("memory", "pointwise", "cpu", "cpp", ""), "streaming-stores cache-blocking fused-passes threads-over-rows"),
    (
        ("compute", "pointwise", "cpu", "cpp", ""),
        "vectorised-exponential threads-over-rows strength-reduction branchless-select",
    ),
    (("compute", "pointwise", "cuda", "cuda", ""), "fast-intrinsics strength-reduction branchless-select"),
    (
        ("latency", "pointwise", "cuda", "cuda", ""),
        "vectorised-loads thread-per-element block-size thread-coarsening loop-unrolling grid-stride-persistent branchless-select",
    ),
    (("occupancy", "pointwise", "cuda", "cuda", ""), "block-size occupancy-by-less-state"),
    # Scans, scatters, sorting.
    (("latency", "scan", "cuda", "cuda", ""), "warp-scan two-level-scan chunked-scan block-per-row"),
    (("latency", "scan", "cuda", "triton", ""), "chunked-scan block-per-row thread-per-row"),
    (("latency", "scan", "cpu", "cpp", ""), "chunked-scan"),
    (("uncoalesced", "scan", "cuda", "cuda", ""), "coalesced-access block-per-row shared-memory-transposition"),
    (("tail", "scan", "cuda", "cuda", ""), "two-level-scan chunked-scan"),
    (
        ("latency", "indexing", "cuda", "cuda", ""),
        "privatised-histogram avoid-atomics replicated-counters ballot-compaction",
    ),
    (
        ("memory", "indexing", "cuda", "cuda", ""),
        "privatised-histogram read-only-cache coalesced-access vectorised-loads ballot-compaction",
    ),
    (("latency", "indexing", "cpu", "cpp", ""), "software-prefetch privatised-partials replicated-counters"),
    (("memory", "indexing", "cpu", "cpp", ""), "software-prefetch cache-blocking"),
    (("latency", "sorting", "cuda", "cuda", ""), "warp-synchronous-steps shared-memory-tiling block-per-row"),
    (("memory", "sorting", "cuda", "cuda", ""), "shared-memory-tiling coalesced-access algorithmic-change"),
    # Stencils, filters, images, sparse, graphs, points.
    (
        ("memory", "stencil", "cuda", "cuda", ""),
        "shared-memory-tiling coalesced-access register-blocking thread-coarsening",
    ),
    (("uncoalesced", "stencil", "cuda", "cuda", ""), "coalesced-access"),
    (
        ("compute", "stencil", "cpu", "cpp", ""),
        "unmasked-main-loop threads-over-rows branchless-select strength-reduction algorithmic-change loop-interchange",
    ),
    (("memory", "stencil", "cpu", "cpp", ""), "cache-blocking threads-over-rows streaming-stores loop-interchange"),
    (
        ("memory", "convolution", "cuda", "cuda", ""),
        "shared-memory-tiling register-blocking constant-operands-in-shared-memory coalesced-access",
    ),
    (
        ("compute", "convolution", "cuda", "cuda", ""),
        "tensor-cores-wmma register-blocking algorithmic-change loop-unrolling",
    ),
    (("compute", "convolution", "cuda", "triton", ""), "tensor-cores-dot algorithmic-change"),
    (("uncoalesced", "sparse", "cuda", "cuda", ""), "warp-per-row sub-warp-per-row coalesced-access layout-change"),
    (("memory", "sparse", "cuda", "cuda", ""), "read-only-cache streaming-stores coalesced-access"),
    (("latency", "sparse", "cpu", "cpp", ""), "software-prefetch threads-over-rows"),
    (("uncoalesced", "graph", "cuda", "cuda", ""), "sub-warp-per-row coalesced-access layout-change"),
    (("memory", "graph", "cuda", "cuda", ""), "read-only-cache streaming-stores coalesced-access vectorised-loads"),
    (("compute", "geometry", "cuda", "cuda", ""), "fast-intrinsics register-blocking shared-memory-tiling"),
    (("memory", "geometry", "cuda", "cuda", ""), "shared-memory-tiling register-blocking"),
    (("occupancy", "geometry", "cuda", "cuda", ""), "warp-per-row split-reduction block-size"),
    (("compute", "transform", "cuda", "cuda", ""), "precomputed-table fast-intrinsics algorithmic-change"),
    (("memory", "transform", "cuda", "cuda", ""), "shared-memory-tiling coalesced-access"),
    (("uncoalesced", "layout", "cuda", "cuda", ""), "shared-memory-transposition coalesced-access"),
    (("bank_conflicts", "layout", "cuda", "cuda", ""), "bank-conflict-padding"),
    (("memory", "layout", "cpu", "cpp", ""), "cache-blocking loop-interchange"),
    # Losses and attention.
    (
        ("memory", "loss", "cuda", "triton", ""),
        "fused-passes fused-element-wise-launches row-in-registers online-softmax",
    ),
    (("launch", "loss", "cuda", "triton", ""), "fused-element-wise-launches fused-passes split-reduction"),
    (("compute", "attention", "cuda", "triton", ""), "tensor-cores-dot"),
    (("memory", "attention", "cuda", "cuda", ""), "shared-memory-tiling online-softmax tensor-cores-wmma"),
    # In words.
    (
        ("unknown", "reduction", "cuda", "cuda", "too many atomic additions to one address"),
        "avoid-atomics warp-shuffle-reduction",
    ),
    (("unknown", "contraction", "cuda", "cuda", "tile both factors through shared memory"), "shared-memory-tiling"),
    (("unknown", "contraction", "cuda", "triton", "small matrix, very long inner dimension"), "split-k"),
    (("unknown", "layout", "cuda", "cuda", "transpose writes are strided"), "shared-memory-transposition"),
    (("unknown", "", "cuda", "triton", "num_warps and num_stages"), "warps-and-stages"),
    (("unknown", "", "cpu", "cpp", "OpenMP over the outer loop"), "threads-over-rows"),
    (("unknown", "indexing", "cuda", "cuda", "histogram with skewed data"), "privatised-histogram replicated-counters"),
    (("unknown", "indexing", "cuda", "cuda", "keep only elements that pass a test"), "ballot-compaction"),
    (("unknown", "convolution", "cuda", "cuda", "box filter could be separable"), "algorithmic-change"),
]
"""At least eighty; the first answer must fit in four of five."""
