// Records, jobs and cost models in one place, as the server keeps them.
#pragma once

#include "db/job_store.h"
#include "db/model_store.h"
#include "db/record_store.h"

namespace temper::db {

class Store : public RecordStore, public JobStore, public ModelStore {};

}  // namespace temper::db
