// The files of schema/ as text, made at build by embed_schema.cmake.
#pragma once

#include <string_view>

namespace temper::db {

// The newest schema: how many steps there are. A database of version v has had the first v of them.
extern const int kSchemaVersion;
// kSchemaSteps[v] turns version v into version v + 1.
extern const std::string_view kSchemaSteps[];

}  // namespace temper::db
