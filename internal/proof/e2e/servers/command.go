package servers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

func dynoxide(tool, _ string, port int) (*exec.Cmd, error) {
	return exec.Command(filepath.Join(tool, "bin", "dynoxide"), "serve", "--host", "127.0.0.1", "--port", strconv.Itoa(port), "--log", "quiet"), nil
}

func moto(tool, _ string, port int) (*exec.Cmd, error) {
	cmd := exec.Command(filepath.Join(tool, "bin", "python"), "-W", "ignore", "-m", "moto.server", "-H", "127.0.0.1", "-p", strconv.Itoa(port))
	cmd.Env = append(os.Environ(), "AWS_DEFAULT_REGION="+Region)
	return cmd, nil
}

func oidc(tool, _ string, port int) (*exec.Cmd, error) {
	return exec.Command("node", filepath.Join(tool, "server.mjs"), strconv.Itoa(port)), nil
}

// elasticmqConfig lets the server count accounts and regions as the others do, so that an ARN in a
// redrive policy names the same queue.
const elasticmqConfig = `include classpath("reference.conf")
node-address { protocol = http, host = "127.0.0.1", port = %[1]d, context-path = "" }
rest-sqs { enabled = true, bind-port = %[1]d, bind-hostname = "127.0.0.1", sqs-limits = strict }
rest-stats { enabled = false }
aws { region = %[2]q, accountId = %[3]q }
queues {}
`

func elasticmq(tool, dir string, port int) (*exec.Cmd, error) {
	config := filepath.Join(dir, "elasticmq.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, elasticmqConfig, port, Region, Account), 0o600); err != nil {
		return nil, err
	}
	return exec.Command("java", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dconfig.file="+config,
		"-cp", filepath.Join(tool, "lib", "*"), "org.elasticmq.server.Main"), nil
}
