#include "db/sqlite.h"

#include <sqlite3.h>

#include <unordered_map>

namespace temper::db {
namespace {

// More than the largest job (job_store.cc), far more than the largest record.
constexpr int kMaxRowBytes = 200 << 20;

// A file: URI; only it can say `immutable`. Characters with a meaning there are escaped.
std::string Uri(const std::string& path, bool immutable) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string uri = "file:";
  for (char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      auto byte = static_cast<unsigned char>(c);
      uri += '%';
      uri += kDigits[byte >> 4];
      uri += kDigits[byte & 15];
    } else {
      uri += c;
    }
  }
  return immutable ? uri + "?immutable=1" : uri;
}

}  // namespace

struct Connection::State {
  std::string path;
  sqlite3* handle = nullptr;
  std::unordered_map<std::string, sqlite3_stmt*> statements;

  ~State() {
    for (auto& [sql, statement] : statements) sqlite3_finalize(statement);
    sqlite3_close_v2(handle);
  }
};

Connection::Connection(std::unique_ptr<State> state) : state_(std::move(state)) {}
Connection::~Connection() = default;

Result<std::unique_ptr<Connection>> Connection::Open(const std::string& path, Mode mode,
                                                     int busy_ms) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE;
  if (mode == Mode::kCreate) flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  // SQLite tidies up behind connections that may write only.
  if (mode == Mode::kWrite || mode == Mode::kReadAlone) flags |= SQLITE_OPEN_READWRITE;
  if (mode == Mode::kRead || mode == Mode::kImmutable) flags |= SQLITE_OPEN_READONLY;
  auto state = std::make_unique<State>();
  state->path = path;
  std::string uri = path == ":memory:" ? path : Uri(path, mode == Mode::kImmutable);
  int code = sqlite3_open_v2(uri.c_str(), &state->handle, flags, nullptr);
  std::unique_ptr<Connection> connection(new Connection(std::move(state)));
  if (code != SQLITE_OK) return connection->Error(code);
  sqlite3* handle = connection->state_->handle;
  sqlite3_busy_timeout(handle, busy_ms);
  // The file may come from elsewhere: its schema must not be able to run anything.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  // Nor may a damaged length make us allocate much.
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kMaxRowBytes);
  const char* settings = mode == Mode::kReadAlone
                             ? "PRAGMA cell_size_check = ON; PRAGMA query_only = ON"
                             : "PRAGMA cell_size_check = ON";
  code = sqlite3_exec(handle, settings, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return connection->Error(code);
  return connection;
}

Status Connection::Error(int code) const {
  const std::string& path = state_->path;
  std::string detail =
      state_->handle != nullptr ? sqlite3_errmsg(state_->handle) : sqlite3_errstr(code);
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      return InvalidArgument(path + " is not a tuning database");
    case SQLITE_CORRUPT:
      return DataLoss(path + " is damaged (" + detail +
                      "): save what can be read with `temper db export` and import that into a "
                      "new database");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Unavailable(path + " is locked by another program: try again when that has ended");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return PermissionDenied(path +
                              " is read-only: writing needs permission on the file and its folder");
    case SQLITE_CANTOPEN:
      return PermissionDenied("cannot open " + path + " (" + detail +
                              "): check that its folder exists and may be used");
    case SQLITE_FULL:
      return ResourceExhausted(path + " cannot grow: the disk is full");
    case SQLITE_NOMEM:
      return ResourceExhausted(path + ": out of memory");
    case SQLITE_TOOBIG:
      return InvalidArgument(path + ": a value is too long to be stored");
    case SQLITE_IOERR:
      return Unavailable(path + ": the disk reported an error (" + detail + ")");
    default:
      return Internal(path + ": " + detail + " (SQLite error " + std::to_string(code) + ")");
  }
}

Status Connection::Execute(std::string_view sql) {
  int code = sqlite3_exec(state_->handle, std::string(sql).c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? OkStatus() : Error(code);
}

Result<Statement> Connection::Prepare(std::string_view sql) {
  sqlite3_stmt*& statement = state_->statements[std::string(sql)];
  if (statement == nullptr) {
    int code = sqlite3_prepare_v3(state_->handle, sql.data(), static_cast<int>(sql.size()),
                                  SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) return Error(code);
  }
  return Statement(this, statement);
}

Result<int64_t> Connection::QueryInt(std::string_view sql) {
  TEMPER_ASSIGN_OR_RETURN(Statement statement, Prepare(sql));
  TEMPER_ASSIGN_OR_RETURN(bool row, statement.Step());
  return row ? statement.Int(0) : 0;
}

Result<std::string> Connection::QueryText(std::string_view sql) {
  TEMPER_ASSIGN_OR_RETURN(Statement statement, Prepare(sql));
  TEMPER_ASSIGN_OR_RETURN(bool row, statement.Step());
  return row ? statement.Bytes(0) : std::string();
}

Status Connection::Transaction(const std::function<Status()>& work) {
  TEMPER_RETURN_IF_ERROR(Execute("BEGIN IMMEDIATE"));
  Status status = work();
  if (status.ok()) status = Execute("COMMIT");
  // Some errors have undone the transaction already.
  if (!status.ok() && sqlite3_get_autocommit(state_->handle) == 0) {
    Status undone = Execute("ROLLBACK");
    if (!undone.ok()) return undone;
  }
  return status;
}

int64_t Connection::Changes() const { return sqlite3_changes64(state_->handle); }

bool Connection::ReadOnly() const { return sqlite3_db_readonly(state_->handle, "main") == 1; }

Statement::~Statement() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Statement::Statement(Statement&& other) noexcept
    : connection_(other.connection_),
      statement_(std::exchange(other.statement_, nullptr)),
      bind_error_(other.bind_error_) {}

void Statement::NoteBind(int code) {
  if (bind_error_ == SQLITE_OK) bind_error_ = code;
}

Statement& Statement::BindInt(int parameter, int64_t value) {
  NoteBind(sqlite3_bind_int64(statement_, parameter, value));
  return *this;
}

Statement& Statement::BindReal(int parameter, double value) {
  NoteBind(sqlite3_bind_double(statement_, parameter, value));
  return *this;
}

Statement& Statement::BindText(int parameter, std::string_view value) {
  const char* data = value.data() != nullptr ? value.data() : "";  // a null pointer binds NULL
  NoteBind(
      sqlite3_bind_text64(statement_, parameter, data, value.size(), SQLITE_STATIC, SQLITE_UTF8));
  return *this;
}

Statement& Statement::BindBlob(int parameter, std::string_view value) {
  const char* data = value.data() != nullptr ? value.data() : "";
  NoteBind(sqlite3_bind_blob64(statement_, parameter, data, value.size(), SQLITE_STATIC));
  return *this;
}

Result<bool> Statement::Step() {
  if (bind_error_ != SQLITE_OK) return connection_->Error(bind_error_);
  int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return connection_->Error(code);
}

Status Statement::Run() {
  for (;;) {
    TEMPER_ASSIGN_OR_RETURN(bool row, Step());
    if (!row) return OkStatus();
  }
}

int64_t Statement::Int(int column) const { return sqlite3_column_int64(statement_, column); }

double Statement::Real(int column) const { return sqlite3_column_double(statement_, column); }

std::string Statement::Bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  auto size = static_cast<size_t>(sqlite3_column_bytes(statement_, column));
  return data != nullptr ? std::string(static_cast<const char*>(data), size) : std::string();
}

}  // namespace temper::db
