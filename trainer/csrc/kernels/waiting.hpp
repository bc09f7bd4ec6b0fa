// Blocks between reading and transforming. They wait until as many of one kind have come together as an instruction
// set transforms at once: neighbours in the picture or not, of one plane or of several.

namespace overnight::OVERNIGHT_ISA {

#if defined(__AVX2__)
inline constexpr int blocks_at_once = 2;
#else
inline constexpr int blocks_at_once = 1;
#endif

// To how many samples a side; `first_four`: to eight, from coefficients of the first four rows and columns alone.
enum class Transform : std::uint8_t { first_four, eight, four, two };
inline constexpr int transforms = 4;

struct WaitingBlocks {
    int count = 0;
    std::int16_t* block[blocks_at_once];
    const std::int16_t* quantization[blocks_at_once];
    std::uint8_t* out[blocks_at_once];
    std::size_t stride[blocks_at_once];
};

inline void transform(Transform kind, const WaitingBlocks& blocks);

struct BlockQueue {
    alignas(64) std::int16_t memory[transforms * blocks_at_once + 2][64];
    std::int16_t* next[2] = {memory[0], memory[1]};  // the blocks that are read into
    WaitingBlocks waiting[transforms];

    BlockQueue() {
        for (int kind = 0; kind < transforms; ++kind) {
            for (int i = 0; i < blocks_at_once; ++i) waiting[kind].block[i] = memory[2 + kind * blocks_at_once + i];
        }
    }
};

// Next block `i`, all zero. Compilers make a slow instruction of a memset of this size.
[[gnu::always_inline]] inline std::int16_t* cleared_block(BlockQueue& queue, int i) {
    typedef std::int16_t Part __attribute__((vector_size(32), may_alias));
    auto* part = reinterpret_cast<Part*>(queue.next[i]);
    part[0] = part[1] = part[2] = part[3] = Part{};
    return queue.next[i];
}

// Lets next block `which` wait, and has another one in its place.
[[gnu::always_inline]] inline void wait_for_others(BlockQueue& queue, int which, Transform kind, const PlaneJob& plane,
                                                   std::uint8_t* out) {
    WaitingBlocks& waiting = queue.waiting[static_cast<int>(kind)];
    const int i = waiting.count;
    std::int16_t* const spare = waiting.block[i];
    waiting.block[i] = queue.next[which];
    queue.next[which] = spare;
    waiting.quantization[i] = plane.quantization;
    waiting.out[i] = out;
    waiting.stride[i] = plane.stride;
    waiting.count = i + 1;
    if (waiting.count < blocks_at_once) return;
    transform(kind, waiting);
    waiting.count = 0;
}

// Nobody else comes: a block that is alone takes both places.
inline void wait_no_longer(BlockQueue& queue) {
    if constexpr (blocks_at_once == 2) {
        for (int kind = 0; kind < transforms; ++kind) {
            WaitingBlocks& waiting = queue.waiting[kind];
            if (waiting.count == 0) continue;
            waiting.count = 0;
            WaitingBlocks twice = waiting;
            twice.block[1] = twice.block[0];
            twice.quantization[1] = twice.quantization[0];
            twice.out[1] = twice.out[0];
            twice.stride[1] = twice.stride[0];
            transform(static_cast<Transform>(kind), twice);
        }
    }
}

}  // namespace overnight::OVERNIGHT_ISA
