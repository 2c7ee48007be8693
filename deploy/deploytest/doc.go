// Package deploytest tests deployments: that the files in deploy agree with the
// program, and the topology that they describe, as processes of this machine: Redis,
// three replicas, and Caddy or nginx with the configurations of deploy. What is
// missing of these is said, and its tests are skipped.
package deploytest
