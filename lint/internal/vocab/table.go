package vocab

// The packages that only log, trace or measure.
const (
	loggers = "go.uber.org/zap(/zapcore)?|k8s.io/klog(/v2)?|github.com/(sirupsen/logrus|rs/zerolog(/log)?|golang/glog|" +
		"apex/log|hashicorp/go-hclog|go-logr/logr|go-kit/(kit/)?log(/level)?|containerd/log)"
	tracers = "go.opentelemetry.io/otel(/(attribute|baggage|codes|trace|semconv/.*))?|go.opencensus.io/trace|" +
		"github.com/opentracing/opentracing-go(/(ext|log))?"
	meters = "go.opentelemetry.io/otel/metric|go.opencensus.io/(stats|tag)|github.com/(armon|hashicorp)/go-metrics|" +
		"github.com/prometheus/client_golang/prometheus(/promauto)?|github.com/DataDog/datadog-go(/v\\d+)?/statsd"
)

// Table describes functions that the linter knows by name. Rows with library evidence come
// first: a function has the role of the first such row that describes it. If there is none, it
// has the roles of all rows with named evidence that describe it.
//
// A row without a role prevents rows below it from describing a function.
var Table = []Row{
	// Time.
	{"time", "", "Sleep", Waits, 0, Library},
	{"time", "", "Tick", Clock | Ticks, 0, Library},
	{"time", "", "After|NewTimer|NewTicker|AfterFunc", Clock, 0, Library},
	{"time", "", "Until", Clock, 0, Library},
	{"time", "", "Now|Since", Clock, -1, Library},
	{"time", "Time", "Add", Pure | Adds, 0, Library},
	{"time", "Time|Duration", ".*", Pure, -1, Library},
	{"time", "Timer|Ticker", "Reset", Clock, 0, Library},
	{"time", "Timer|Ticker", "Stop", Pure | Cleans, -1, Library},
	{"time", "", ".*", Pure, -1, Library},
	{".*[Cc]lock.*|.*/quartz", ".+", "Tick", Clock | Ticks, 0, Library},
	{".*[Cc]lock.*|.*/quartz", ".+", "After|NewTimer|NewTicker", Clock, 0, Library},
	{".*[Cc]lock.*|.*/quartz", ".+", "Now|Since|Until", Clock, -1, Library},
	{".*", ".+", "[Ss]leep", Waits, 0, Library},

	// The end of a program, or of a goroutine.
	{"os", "", "Exit", Exits, -1, Library},
	{"runtime", "", "Goexit", Exits, -1, Library},
	{"log", ".*", "Fatal.*|Panic.*", Exits, -1, Library},
	{"testing", "T|B|F|TB|common", "Fatal.*|FailNow|Skip|Skipf|SkipNow", Exits, -1, Library},
	{"runtime", "", "Gosched", Waits, -1, Library},
	{"runtime(/.*)?", ".*", ".*", Logs, -1, Library},

	// Functions that only compute, or only report.
	{"log|log/slog|expvar", ".*", ".*", Logs, -1, Library},
	{loggers, ".*", "(Fatal|Panic|Exit).*", Exits, -1, Library},
	{loggers + "|" + tracers, ".*", "NewContext.*|ContextWith.*|WithContext|WithLogger|Start.*", Pure | Makes | Derives,
		-1, Library},
	{loggers + "|" + tracers + "|" + meters, ".*", ".*", Logs, -1, Library},
	{"fmt", "", "Print.*|Fprint.*", Logs, -1, Library},
	{"fmt", "", "Scan.*|Fscan.*", Asks | Receives, -1, Library},
	{"errors|fmt|golang.org/x/xerrors|github.com/pkg/errors", "", "New|Errorf", Pure | Fails, -1, Library},
	{".*errors?", "", "Wrap|Wrapf|WithStack|WithMessage|WithMessagef|Trace", Pure | Wraps, -1, Library},
	{"errors|golang.org/x/xerrors|github.com/pkg/errors", "", "Is|As|AsType", Pure | Judges, -1, Library},
	{"fmt|errors|strings|bytes|strconv|path|path/filepath|unicode(/.*)?|math|math/bits|sort|slices|maps|reflect|cmp|" +
		"regexp|unique|net/url|net/netip|net/textproto|encoding/(json|hex|base64|binary|xml)|" +
		"github.com/pkg/errors|golang.org/x/xerrors|crypto/(sha256|sha512|sha1|md5)",
		".*", ".*", Pure, -1, Library},
	{DurableGenapiPath, "", ".*ID|Arguments", Pure, -1, Library},
	{"math/rand(/v2)?", ".*", ".*", Random, -1, Library},
	{".*/uuid|.*/ulid|.*/xid", ".+", "String|Bytes|MarshalText|Hex", Pure, -1, Library},
	{".*/uuid|.*/ulid|.*/xid", "", "(Must)?Parse.*|From.*|Must", Pure, -1, Library},
	{"crypto/rand|.*/uuid|.*/ulid|.*/xid", ".*", ".*", Random, -1, Library},
	{"k8s.io/apimachinery/pkg/util/wait", "", "Jitter", Random, 0, Library},

	// Contexts.
	{"context", "", "Background|TODO|WithoutCancel", Pure | Makes | Roots, -1, Library},
	{"context", "", "WithTimeout.*|WithDeadline.*", Pure | Makes | Derives | Limits, -1, Library},
	{"context", "", "With.*", Pure | Makes | Derives, -1, Library},
	{"context", "", "Cause", Pure | Ends, -1, Library},
	{DurablePath, "", "Scope", Pure | Makes | Derives, -1, Library},
	{"context", "Context", "Done|Err", Pure | Ends, -1, Library},
	{"context", ".*", ".*", Pure | Makes, -1, Library},
	{"os/signal", "", "NotifyContext", Makes | Attaches, -1, Library},
	{"golang.org/x/sync/errgroup", "", "WithContext", Makes | Attaches, -1, Library},
	{"testing", ".*", "Context", Pure, -1, Library}, // it ends with the test
	{".*", ".+", "Context", Pure | Attaches, -1, Library},

	// Locks.
	{"sync/atomic", ".*", "CompareAndSwap.*", Locks | Stores, -1, Library},
	{"sync/atomic", ".*", "Load.*", Logs | Loads, -1, Library},
	{"sync/atomic", ".*", "(Store|Add|And|Or|Swap).*", Logs | Stores, -1, Library},
	{"sync", "Map", "Load|Range", Logs | Loads, -1, Library},
	{"sync", "Map", ".*", Logs | Stores, -1, Library},
	{"sync", ".*", "TryLock|TryRLock", Locks, -1, Library},
	{"sync", "Cond|WaitGroup", "Wait", 0, -1, Library},
	{"sync", ".*", "Unlock|RUnlock|Lock|RLock|Done|Add", Logs, -1, Library},
	{".*", ".*", "CompareAndSwap.*|CAS", Locks, -1, Library},

	// Functions that deliver the next item, message or connection, and nothing else while there
	// is none.
	{"net", ".*Listener", "Accept.*", Receives | Blocks, -1, Library},
	{"net", ".*Conn", "Read.*", Receives | Blocks, -1, Library},
	{"bufio", "Reader", "Read(String|Line|Bytes|Slice|Byte|Rune)", Receives | Blocks | Persists, -1, Library},
	{"encoding/json|encoding/gob", "Decoder", "Decode|Token", Receives | Blocks, -1, Library},
	{"google.golang.org/grpc", ".*Stream", "RecvMsg", Receives | Blocks | Persists, -1, Library},
	{"google.golang.org/grpc", ".*Stream.*(Client|Server)", "Recv", Receives | Blocks | Persists, -1, Library},
	{"github.com/gorilla/websocket", "Conn", "ReadMessage|NextReader", Receives | Blocks | Persists, -1, Library},
	{"github.com/gorilla/websocket", "Conn", "ReadJSON", Receives | Blocks, -1, Library},
	{"github.com/coder/websocket|nhooyr.io/websocket", "Conn", "Read|Reader", Receives | Blocks | Persists, -1, Library},
	{"golang.org/x/net/websocket", "Codec", "Receive", Receives | Blocks, -1, Library},
	{"github.com/quic-go/quic-go", ".*", "Accept.*", Receives | Blocks, -1, Library},
	{"github.com/(hashicorp/yamux|xtaci/smux)", "Session", "Accept.*", Receives | Blocks | Persists, -1, Library},
	{"github.com/segmentio/kafka-go", "Reader", "(Read|Fetch)Message", Receives | Blocks, -1, Library},
	{"github.com/(go-redis/redis|redis/go-redis)(/v\\d+)?", "PubSub", "Receive|ReceiveMessage",
		Receives | Blocks | Remote, -1, Library},
	{"github.com/nats-io/nats.go", "Subscription", "NextMsgWithContext", Receives | Blocks, -1, Library},
	{"github.com/jackc/pgx/v\\d+(/pgconn)?", ".*Conn", "WaitForNotification", Receives | Blocks, -1, Library},
	{"github.com/aws/aws-sdk-go.*/service/sqs", ".+", "ReceiveMessage.*", Receives | Blocks | Remote, -1, Library},

	// Other processes.
	{"net/http", "", "NewRequest.*|StatusText|CanonicalHeaderKey", Pure | Makes, -1, Library},
	{"net/http", "Header|Request|Response|Cookie", ".*", Pure, -1, Library},
	{"net/http", "Client|Transport|RoundTripper|", "Get|Post|Head|Do|PostForm|RoundTrip", Remote, -1, Library},
	{"net/http", ".*", "ListenAndServe.*|Serve.*", Receives | Serves, -1, Library},
	{"os/exec", "", "Command|CommandContext", Pure | Makes, -1, Library},
	{"os/exec", "Cmd", "Run|Wait|Output|CombinedOutput", Serves, -1, Library},
	{"net|crypto/tls", ".*", "Dial.*|Lookup.*|Resolve.*", Remote, -1, Library},
	{"net|crypto/tls", ".*Conn", "Write.*", Remote, -1, Library},
	{"net|crypto/tls", ".*", "Listen.*", 0, -1, Library},
	{"net/rpc", ".*", "Call|Dial.*", Remote, -1, Library},
	{"database/sql", "DB|Conn|Tx|Stmt", "Query.*|Exec.*|Ping.*|Begin.*|Prepare.*|Commit", Remote, -1, Library},
	{"google.golang.org/grpc/(status|codes)", ".*", ".*", Pure | Judges, -1, Library},
	{"google.golang.org/grpc", "", "Dial.*|NewClient", Remote, -1, Library},
	{"google.golang.org/grpc", "ClientConn|ClientConnInterface", "Invoke|NewStream", Remote, -1, Library},
	{"net/smtp", "", "SendMail|Dial", Remote, -1, Library},
	{"golang.org/x/crypto/ssh", "", "Dial", Remote, -1, Library},
	{"github.com/gorilla/websocket", "Dialer", "Dial.*", Remote, -1, Library},
	{"github.com/(streadway/amqp|rabbitmq/amqp091-go)", "", "Dial.*", Remote, -1, Library},
	{"github.com/nats-io/nats.go", "", "Connect", Remote, -1, Library},
	{"github.com/jackc/pgx/v\\d+(/pgxpool|/pgconn)?", "", "Connect.*", Remote, -1, Library},
	{"github.com/jackc/pgx/v\\d+(/pgxpool)?", "Conn|Pool|Tx", "Query|Exec|Begin.*|Ping|CopyFrom|Commit",
		Remote, -1, Library},
	{"go.mongodb.org/mongo-driver/(v\\d+/)?mongo", "Client|Database|Collection",
		"Ping|Insert.*|Update.*|Replace.*|Delete.*|Find|Aggregate|Count.*|Distinct|BulkWrite|RunCommand.*|List.*",
		Remote, -1, Library},
	{"go.etcd.io/etcd/(client/v3|clientv3)", "Client|KV|Lease|Cluster|Maintenance", "Get|Put|Delete|Do|Grant|Revoke|" +
		"KeepAliveOnce|TimeToLive|Member.*|Status|Defragment", Remote, -1, Library},
	{"k8s.io/client-go/(kubernetes/typed/.*|dynamic)", ".+",
		"Get|List|Create|Update|UpdateStatus|Delete|DeleteCollection|Patch|Apply|ApplyStatus|Watch", Remote, -1, Library},
	{"sigs.k8s.io/controller-runtime/pkg/client", ".+", "Create|Update|Patch|Delete", Remote, -1, Library},
	{"github.com/(docker/docker|moby/moby)/client", "Client",
		"(Container|Image|Network|Volume|Exec).*|Ping|Info", Remote, -1, Library},
	{"github.com/ethereum/go-ethereum/(ethclient|rpc)", ".*",
		"Dial.*|Call.*|.*At|.*By(Hash|Number)|BlockNumber|SendTransaction|SuggestGas.*|EstimateGas|" +
			"FilterLogs|TransactionReceipt|ChainID|NetworkID", Remote, -1, Library},
	{"github.com/aws/aws-sdk-go.*/service/.*", ".+", "New.*", Makes, -1, Library},
	{"github.com/aws/aws-sdk-go.*/service/.*", ".+", ".*", Remote, -1, Library},
	{"k8s.io/apimachinery/pkg/api/errors", ".*", ".*", Pure | Judges, -1, Library},
	{"google.golang.org/api/.*", ".*Call", "Do", Remote, -1, Library},
	{"cloud.google.com/go/storage", "BucketHandle|ObjectHandle|Copier|Composer",
		"Attrs|Create|Delete|Update|Run|NewReader|NewRangeReader", Remote, -1, Library},
	{"github.com/Azure/azure-sdk-for-go/sdk/.*", ".*Client", "Begin[A-Z].*|Create|CreateOrUpdate|Update|Delete|Get|" +
		"GetProperties|Upload(Buffer|File|Stream)?|Download(Buffer|File|Stream)", Remote, -1, Library},
	{"github.com/minio/minio-go(/v\\d+)?", "Client", "BucketExists|CopyObject|ComposeObject|FGetObject|FPutObject|" +
		"PutObject|StatObject|RemoveBucket|RemoveObject|ListBuckets|MakeBucket|[GS]etBucket.*", Remote, -1, Library},
	{"github.com/(go-redis/redis|redis/go-redis)(/v\\d+)?", ".*Cmd", "Err|Result", Remote, -1, Library}, // it was sent
	{"github.com/bradfitz/gomemcache/memcache", "Client", "Get.*|Set|Add|Replace|Delete.*|Increment|Decrement|Touch|Ping",
		Remote, -1, Library},
	{"github.com/(IBM|Shopify)/sarama", "", "New(Client|SyncProducer|AsyncProducer|Consumer|ConsumerGroup|ClusterAdmin)",
		Remote, -1, Library},
	{"github.com/(IBM|Shopify)/sarama", "SyncProducer|ClusterAdmin", "Send.*|(Create|Delete|Describe|List|Alter).*",
		Remote, -1, Library},
	{"github.com/segmentio/kafka-go", "Dialer|Client|Conn|Writer", "Dial.*|Lookup.*|WriteMessages|Produce|Metadata|" +
		"Brokers|Controller|(Alter|Create|Delete|Describe).*", Remote, -1, Library},
	{"github.com/twmb/franz-go/pkg/kgo", "Client", "ProduceSync|Ping|Request.*|Commit.*", Remote, -1, Library},
	{"github.com/nats-io/nats.go(/jetstream)?", "Conn|JetStream.*|Publisher|StreamManager|KeyValue",
		"Request.*|Flush.*|(Publish|PublishMsg|Put)|.*(Stream|Consumer|StreamInfo|ConsumerInfo)", Remote, -1, Library},
	{"github.com/hashicorp/consul/api", "KV|Catalog|Health|Status", ".*", Remote, -1, Library},
	{"github.com/hashicorp/vault/api", "Logical|Sys", "(Read|Write|List|Delete|Patch|Enable|Disable|Seal|Health).*",
		Remote, -1, Library},
	{"github.com/(go-zookeeper|samuel/go-zookeeper)/zk", "Conn", "Children|Create.*|Delete|Exists|Get|Set|Multi|Sync",
		Remote, -1, Library},
	{"github.com/jmoiron/sqlx", "|DB|Tx|Conn|Stmt|NamedStmt",
		"Connect.*|(Get|Select|Exec|Query|NamedExec|NamedQuery|Preparex|PrepareNamed|Begin).*", Remote, -1, Library},
	{"gorm.io/gorm", "", "Open", Remote, -1, Library}, // the function pings the server
	{"github.com/gocql/gocql", "ClusterConfig|Session|Query", "CreateSession|ExecuteBatch|Exec|Scan|MapScan",
		Remote, -1, Library},
	{"github.com/go-resty/resty/v2", "Request", "Get|Head|Post|Put|Delete|Options|Patch|Execute|Send",
		Remote, -1, Library},
	{"github.com/google/go-github(/v\\d+)?/github", ".*Service", ".*", Remote, -1, Library},
	{"github.com/miekg/dns", "|Client", "Exchange.*|Dial.*", Remote, -1, Library},
	{"go.opentelemetry.io/collector/consumer(/.*)?", ".*", "Consume.*", 0, -1, Library}, // the next component decides
	{"github.com/(coder/websocket|quic-go/quic-go|go-ldap/ldap(/v3)?)|nhooyr.io/websocket", "", "Dial(TLS|URL|Addr)?",
		Remote, -1, Library},
	{"os|io/ioutil", "", "Read(File|Dir|link)", 0, -1, Library},
	{"io|bufio|net|os|.*websocket", ".*", "Read.*|Scan|Next|Copy.*|Accept.*|Peek|Discard", Receives, -1, Library},

	// Functions whose names are misleading: a login is neither a log entry nor a new item.
	{".*", ".*", "(?i:log(in|out|on|off).*)", 0, -1, Library},

	// Functions that are known only by their names.
	{".*/(klog|logrus|zap|zerolog|glog|log|logger|logging)(/.*)?", ".*", "Fatal.*|Panic.*|Exit.*", Exits, -1, Named},
	{".*", ".+", "Fatal(f|ln|w)?", Exits, -1, Named},
	{".*", ".*", "Recv.*|Receive.*|Accept.*|Read.*Message|ReadFrom.*|ReadMsg|ReadJSON|Poll.*Message|FetchMessage|" +
		"Next.*|Pop.*|Dequeue.*|Take.*|Consume.*|" +
		"(?i:next.*|pop|dequeue|recv|receive|accept|pick|choose|select|rotate|read|fetchnext)", Receives, -1, Named},
	{".*", ".*[Pp]rompt.*", ".*", Asks, -1, Named},
	{".*", ".*", "(?:try|Try)?(?:[Aa]cquire|[Ll]ock)([A-Z].*)?|try.*Lock.*", Locks, -1, Named},
	{".*", ".*", "Prompt.*|Ask.*|Confirm.*|ReadPassword|ReadLine|GetPassword|.*Interactive.*", Asks, -1, Named},
	{".*", ".*", ".*Log|(?i:log.*|debug.*|info.*|warn.*|error[fw]?|errorln|print.*|trace.*|record.*|observe.*|inc.*|" +
		"notify.*|emit.*|report.*|event.*|metric.*|set(state|status).*|withfields?|witherror|withvalues|addevent|" +
		"fprint.*|write(string)?|v|named|fields?|msgf?|update(metric|count).*)", Logs, -1, Named},
	{".*", ".*", "(?i:close.*|cancel|unlock|runlock|release.*|cleanup.*|stop)", Cleans, -1, Named},
	{".*", ".*", "(?i:.*(closed|shutdown|shuttingdown|stopp(ed|ing)|cancell?ed|terminated|exiting).*)", Stops, -1, Named},
	{".*", ".*", "(?:[Ii]s|[Hh]as|[Ss]hould)[A-Z_].*|(?i:.*retr(y|i)able|temporary|timeout|.*transient.*|code|cause|" +
		".*notfound|unwrap|match.*error.*)", Judges, -1, Named},
	{".*", ".*", "[Gg]et([A-Z].*)?", Makes | Gets, -1, Named},
	{".*", ".*", "(?:[Nn]ew|[Mm]ake|[Bb]uild|[Ww]ith|[Tt]o|[Ff]rom)([A-Z].*)?|[Cc]reate.*Request|" +
		"(?i:string|name|id|key|addr.*|url|len|size|clone|copy|namespace|client|method)", Makes, -1, Named},
	{".*", ".*", "(?i:.*(sleep|wait|backoff|delay|pause).*)", Waits, -1, Named},
}
