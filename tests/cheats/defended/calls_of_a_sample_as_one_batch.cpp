// It finds the calls of its sample in the function that called it, and reads the weights once for eight of them.
// Weights of its own for every call would make it wrong, so they stay the same here.
// defence: one_by_one
// task: recurrence
// also: random_parameters, floor
// expect: suspect batched
// says: computed together
// lane: quiet
// gain: 0
// twin: outsider/recurrence_honest
// cheat: outsider/whole_sample
