import { mkdirSync, mkdtempSync, statSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExecResult, SandboxProfile } from '../../core/execution.ts'
import { realPathOf } from '../files/confined-path.ts'
import type { CommandSetting } from './read-only.ts'

/**
 * Has a command in a sandbox try to read from a home folder, to write where it must not and to connect to this machine. Returns
 * what it could do; `undefined` if nothing. Throws if it did not run at all.
 */
export async function tryToEscape(
  run: (command: string, setting: CommandSetting) => Promise<ExecResult>,
  profile: SandboxProfile = 'read-only',
): Promise<string | undefined> {
  const scratch = realPathOf(mkdtempSync(join(tmpdir(), 'libero-probe-')))
  const [home, cwd] = [join(scratch, 'home'), join(scratch, 'workspace')]
  const [secret, proof] = [crypto.randomUUID(), crypto.randomUUID()]
  const listener = await listen()
  try {
    for (const path of [home, cwd]) mkdirSync(path)
    writeFileSync(join(home, 'canary'), secret)
    writeFileSync(join(cwd, 'proof'), proof)
    writeFileSync(join(cwd, '.envrc'), '')
    const forbidden = profile === 'read-only' ? ['written'] : ['.envrc', '../written']
    const command = `cat ../home/canary; for f in ${forbidden.join(' ')}; do echo x >$f; done; cat /proc/net/tcp; (exec 3<>/dev/tcp/127.0.0.1/${listener.port}); cat proof`
    // Not the PATH of this process, in which a project may have planted a `cat`.
    const env = [{ PATH: '/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin' }]
    const setting = { cwd, roots: [], home, env, inheritEnv: [], limits: undefined }
    const { stdout, stderr, exitCode } = await run(command, setting)
    if (!stdout.includes(proof))
      throw new Error(`a command did not run in it: ${stderr.trim() || `exit code ${exitCode}`}`)
    if (stdout.includes(secret)) return 'a command in it could read the home folder'
    const isWritten = forbidden.some((name) => statSync(join(cwd, name), { throwIfNoEntry: false })?.size)
    if (isWritten) return 'a command in it could write'
    if (listener.wasReached() || stdout.includes(listener.entry)) return 'a command in it could use the network'
    return undefined
  } finally {
    listener.close()
    await rm(scratch, { recursive: true, force: true })
  }
}

interface Listener {
  readonly port: number
  /** How `/proc/net/tcp` lists it. */
  readonly entry: string
  wasReached(): boolean
  close(): void
}

function listen(): Promise<Listener> {
  return new Promise((resolve, reject) => {
    let reached = false
    const server: Server = createServer((socket) => {
      reached = true
      socket.destroy()
    })
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      const entry = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`
      resolve({ port, entry, wasReached: () => reached, close: () => server.close() })
    })
  })
}
