// Which axis the threads of a kernel share out first.
#pragma once

#include "compiler/schedule/schedule.h"
#include "compiler/te/program.h"

namespace temper::tuner {

// How far the one loop nest of `schedule` is from sharing out its result as the kernels around it
// do theirs: 0 where its outermost parallel loop that is not trivial runs along the axis meant
// below. 0 too where nothing is parallel or the schedule has several nests. `program` is the
// schedule's alternative, without its steps.
//
// Meant is the result's first axis: with it a thread has half an image, its upper or its lower one,
// and the next kernel's thread reads what it wrote itself. A kernel that only moves data reads and
// writes in different orders; the longer axis is meant, which is that of the pixels in wide layers
// and that of the channels in deep ones, as the convolutions there are shared out for the sake of
// their weights.
int LeadingAxisRank(const te::Program& program, const schedule::Schedule& schedule);

}  // namespace temper::tuner
