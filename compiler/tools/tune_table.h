// What `temper tune` shows: the state of a job as a table that is drawn again and again on a
// terminal, as lines elsewhere, and as one JSON object at the end.
#pragma once

#include <string>

#include "base/status.h"
#include "proto/tuner.pb.h"

namespace temper::tools {

// "5m", "90s", "1.5h" or a number of seconds, as seconds. INVALID_ARGUMENT says what is allowed.
Result<double> ParseDuration(const std::string& text);

// "1:05", "2:00:07".
std::string FormatDuration(double seconds);

// A line on the whole job: trials, time, the model's time, how well the cost model ranked the
// candidates it chose (Spearman's, 1: same order), workers.
std::string StatusLine(const proto::JobStatus& status);

// The table, one line a task, the largest share of the model's time first; at most `rows` lines of
// tasks, then one that says how many are left out. With `color`, the head is bold.
std::string StatusTable(const proto::JobStatus& status, int rows, bool color);

// How well the cost model predicted, one line for the end; empty where nothing was predicted.
std::string PredictionLine(const proto::JobStatus& status);

// How well the times can be repeated, one line for the end; empty where too few were taken to tell.
std::string SteadinessLine(const proto::JobStatus& status);

// The object of `--json`, on one line.
std::string StatusJson(const proto::JobStatus& status);

}  // namespace temper::tools
