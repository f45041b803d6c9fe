import { spawn } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { delimiter, join } from 'node:path'
import { freePort, noPostgres, type PostgresServer, serverUser } from './postgres-server.ts'
import { findProgram, installCommand } from './system-programs.ts'

/** A real PgBouncer in front of a server, in transaction mode: a client has a connection for one transaction. */
export interface Pgbouncer {
  readonly port: number
  /** The maximum number of connections to the server. */
  readonly poolSize: number
  stop(): Promise<void>
}

/** Debian has the program where only root looks for it. */
const env = { ...process.env, PATH: `${process.env.PATH}${delimiter}/usr/sbin` }

/** Why no PgBouncer can run here, and what to do about it; undefined where one can. */
export const noPgbouncer: string | undefined =
  noPostgres ??
  (findProgram('pgbouncer') ? undefined : `pgbouncer is not installed; \`${installCommand('pgbouncer')}\` installs it`)

if (noPgbouncer) console.warn(`NOT TESTED, PgBouncer: ${noPgbouncer}`)

export async function startPgbouncer(server: PostgresServer): Promise<Pgbouncer> {
  if (!serverUser) throw new Error(noPgbouncer)
  const { user, scratch } = serverUser
  const folder = mkdtempSync(join(scratch, 'libero-pgbouncer-'))
  const port = await freePort()
  const poolSize = 6
  const settings = `
[databases]
* = host=127.0.0.1 port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${join(folder, 'users.txt')}
pool_mode = transaction
default_pool_size = ${poolSize}
max_client_conn = 500
`
  writeFileSync(join(folder, 'pgbouncer.ini'), settings)
  writeFileSync(join(folder, 'users.txt'), `"libero" "${server.password}"\n`, { mode: 0o600 })
  if (user.uid !== undefined && user.gid !== undefined)
    for (const path of [folder, join(folder, 'pgbouncer.ini'), join(folder, 'users.txt')])
      chownSync(path, user.uid, user.gid)
  // The shell outlives us for a moment, and takes the program and its folder along when we are gone without a word.
  const script = `pgbouncer "$0" < /dev/null & program=$!; read -r _; kill -INT $program; wait $program; rm -rf -- "$1"`
  const args = ['-c', script, join(folder, 'pgbouncer.ini'), folder]
  const shell = spawn('/bin/sh', args, { ...user, env, cwd: folder, stdio: ['pipe', 'ignore', 'pipe'] })
  let said = ''
  shell.stderr.on('data', (chunk: Uint8Array) => {
    said = (said + Buffer.from(chunk).toString()).slice(-5000)
  })
  const stop = async (): Promise<void> => {
    const gone = new Promise((resolve) => shell.once('exit', resolve))
    shell.stdin.end()
    await gone
    rmSync(folder, { recursive: true, force: true })
  }
  for (let tries = 0; !(await isOpen(port)); tries++) {
    if (tries < 500 && shell.exitCode === null) continue
    await stop()
    throw new Error(`PgBouncer did not start: ${said}`)
  }
  return { port, poolSize, stop }
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => setTimeout(resolve, 20, false))
  })
}
