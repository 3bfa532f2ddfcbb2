// Command controlplane is a real Kubernetes control plane for the tests, as one binary that holds five programs:
//
//	controlplane etcd | kube-apiserver | kube-controller-manager | kubectl | kwok  FLAGS…
//
// and a sixth, parse, which tells what apimachinery makes of selectors and quantities (parse.go). It knows nothing about scaleproof. One binary, because linked together the five share most of their code: 174 MB
// and one build instead of five downloads that a test machine would have to be trusted with.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
)

// programs maps a program's name to what runs it; the exit status comes back. Commands are made only when called,
// since making one registers flags.
var programs = map[string]func() int{
	"etcd":                    func() int { etcdmain.Main(os.Args); return 0 },
	"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() int { return cli.Run(manager.NewControllerManagerCommand()) },
	"kubectl":                 func() int { return cli.Run(kubectl.NewDefaultKubectlCommand()) },
	"kwok":                    runKwok,
	"parse":                   runParse,
}

func main() {
	if len(os.Args) > 1 {
		if program, known := programs[os.Args[1]]; known {
			os.Args = os.Args[1:] // each program reads its own name as argument 0
			os.Exit(program())
		}
	}
	names := slices.Sorted(maps.Keys(programs))
	fmt.Fprintf(os.Stderr, "usage: controlplane %s FLAGS…\n", strings.Join(names, "|"))
	os.Exit(2)
}

// runKwok reads KWOK's global flags (--config, -v) before its command exists, as KWOK expects; on a flag set of its
// own, since the default one already has Kubernetes' --version, which KWOK registers again.
func runKwok() int {
	pflag.CommandLine = pflag.NewFlagSet("kwok", pflag.ContinueOnError)
	global := pflag.NewFlagSet("global", pflag.ContinueOnError)
	global.ParseErrorsAllowlist.UnknownFlags = true
	global.Usage = func() {}
	ctx, _ := kwoklog.InitFlags(context.Background(), global)
	ctx, err := kwokconfig.InitFlags(ctx, global)
	if err != nil {
		fmt.Fprintln(os.Stderr, "kwok:", err)
		return 2
	}
	command := kwok.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(global)
	command.SetContext(ctx)
	return cli.Run(command)
}
