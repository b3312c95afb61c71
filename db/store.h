// Records and jobs in one place, as the server keeps them.
#pragma once

#include "db/job_store.h"
#include "db/record_store.h"

namespace temper::db {

class Store : public RecordStore, public JobStore {};

}  // namespace temper::db
