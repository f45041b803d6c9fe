import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

export interface ContainerDescription {
  readonly Image: string
  readonly Entrypoint?: string[]
  readonly Cmd?: string[]
  readonly WorkingDir?: string
  readonly Env?: string[]
  readonly User?: string
  readonly Labels?: Record<string, string>
  readonly HostConfig?: Record<string, unknown> & { AutoRemove?: boolean; Memory?: number }
}

export interface ExecDescription {
  readonly Cmd: string[]
  readonly AttachStdin?: boolean
  readonly AttachStdout?: boolean
  readonly AttachStderr?: boolean
  readonly Env?: string[]
  readonly WorkingDir?: string
  readonly User?: string
}

/** A container whose processes are processes of this machine, identified by a mark in their environment. Linux only. */
export class FakeContainer {
  readonly id = randomBytes(32).toString('hex')
  readonly description: ContainerDescription
  status: 'created' | 'running' | 'exited' = 'created'
  exitCode = 0
  outOfMemory = false
  readonly #onGone: (container: FakeContainer) => void
  readonly #groups = new Set<number>()
  #first: ChildProcess | undefined
  #gone: Promise<void> | undefined

  constructor(description: ContainerDescription, onGone: (container: FakeContainer) => void) {
    this.description = description
    this.#onGone = onGone
  }

  start(): void {
    const { Entrypoint = [], Cmd = [], WorkingDir = '/' } = this.description
    mkdirSync(WorkingDir, { recursive: true })
    this.#first = this.run([...Entrypoint, ...Cmd], {}, 'ignore')
    this.status = 'running'
    const gone = (code: number) => {
      this.exitCode = code
      void this.#end()
    }
    // The init of the container is there; that it cannot start the program shows a moment later.
    this.#first.once('error', () => gone(127))
    this.#first.once('exit', (code, signal) => gone(code ?? (signal === 'SIGKILL' ? 137 : 143)))
  }

  run(argv: string[], { Env = [], WorkingDir }: Partial<ExecDescription>, stdio: 'ignore' | 'pipe'): ChildProcess {
    const own = { PATH: process.env.PATH ?? '', HOSTNAME: this.id.slice(0, 12), [mark]: this.id }
    const env = Object.fromEntries([...(this.description.Env ?? []), ...Env].map((line) => line.split(/=(.*)/s, 2)))
    const cwd = WorkingDir || this.description.WorkingDir || '/'
    const child = spawn(argv[0]!, argv.slice(1), { cwd, env: { ...own, ...env }, detached: true, stdio })
    if (child.pid !== undefined) this.#groups.add(child.pid)
    return child
  }

  /** Ends the first process, and with it everything. */
  async kill({ outOfMemory = false } = {}): Promise<void> {
    this.outOfMemory = outOfMemory
    if (this.#first?.pid !== undefined && this.#first.exitCode === null && this.#first.signalCode === null) {
      const gone = new Promise((resolve) => this.#first!.once('exit', resolve))
      this.#first.kill('SIGKILL')
      await gone
    }
    await this.#end()
  }

  #end(): Promise<void> {
    this.status = 'exited'
    this.#gone ??= this.#endAll().then(() => this.#onGone(this))
    return this.#gone
  }

  async #endAll(): Promise<void> {
    for (const group of this.#groups) signal(-group)
    for (let tries = 0; tries < 100; tries++) {
      const left = this.processes()
      if (left.length === 0) return
      for (const pid of left) signal(pid)
      await sleep(10)
    }
  }

  /** All processes with the mark, in any session. */
  processes(): number[] {
    const pids = readdirSync('/proc').map(Number).filter(Number.isInteger)
    return pids.filter((pid) => isAlive(pid) && environmentOf(pid).includes(`${mark}=${this.id}`))
  }
}

/** A command in a container, as `docker exec` starts one. */
export class FakeExec {
  readonly id = randomBytes(32).toString('hex')
  readonly container: FakeContainer
  readonly description: ExecDescription
  exitCode: number | null = null
  pid = 0
  started = false

  constructor(container: FakeContainer, description: ExecDescription) {
    this.container = container
    this.description = description
  }

  get running(): boolean {
    return this.started && this.exitCode === null
  }

  /** Runs it with its input and its outputs on one stream. */
  start(stream: Duplex): void {
    this.started = true
    const { Cmd, AttachStdin } = this.description
    const child = this.container.run(Cmd, this.description, 'pipe')
    this.pid = child.pid ?? 0
    child.stdout!.on('data', (bytes: Buffer) => stream.write(frame(1, bytes)))
    child.stderr!.on('data', (bytes: Buffer) => stream.write(frame(2, bytes)))
    child.stdin!.on('error', () => {})
    if (AttachStdin) stream.pipe(child.stdin!)
    else child.stdin!.end()
    stream.resume()
    stream.on('error', () => {})
    child.once('error', (error) => {
      stream.write(frame(1, Buffer.from(`OCI runtime exec failed: exec failed: ${error.message}\r\n`)))
      this.exitCode = 127
      stream.end()
    })
    // The exit code is known a moment after the stream has ended, as it is with the real engine.
    child.once('close', (code, killed) => {
      stream.end()
      setTimeout(() => (this.exitCode = code ?? 128 + (numbers[killed ?? ''] ?? 0)), 5)
    })
  }
}

const mark = 'FAKE_DOCKER_CONTAINER'
const numbers: Readonly<Record<string, number>> = { SIGINT: 2, SIGKILL: 9, SIGPIPE: 13, SIGTERM: 15 }

function frame(stream: 1 | 2, bytes: Buffer): Buffer {
  const header = Buffer.alloc(8)
  header[0] = stream
  header.writeUInt32BE(bytes.length, 4)
  return Buffer.concat([header, bytes])
}

function signal(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // it is gone
  }
}

function isAlive(pid: number): boolean {
  return !/\) [ZX] /.test(fileOf(pid, 'stat'))
}

const environmentOf = (pid: number): string => fileOf(pid, 'environ')

function fileOf(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1')
  } catch {
    return ''
  }
}
