import type { ExecOptions, ExecResult, ExecutionContext, ExecutionHandle } from '../core/execution.ts'

export interface ProcessContextOptions {
  /** Default: the working directory of this process, when the first handle is made. */
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

const defaultTimeoutMs = 30_000
const mostOutput = 10 * 1024 * 1024

/** Tools run on this machine, as this user. It isolates nothing. */
export function createProcessContext({ cwd, env }: ProcessContextOptions = {}): ExecutionContext {
  const places = new Map<string, Place>()
  let n = 0

  function placeOf({ id }: ExecutionHandle): Place {
    const place = places.get(id)
    if (!place) throw new Error(`The execution handle ${id} was destroyed; spawn another one`)
    return place
  }

  return {
    type: 'process',
    capabilities: { shell: true, filesystem: true, network: true, gpu: false },

    async spawn(config = {}) {
      const handle = { id: `process-${++n}`, type: 'process', cwd: config.cwd ?? cwd ?? process.cwd() }
      places.set(handle.id, { env: { ...env, ...config.env }, running: new Set() })
      return handle
    },

    async exec(handle, command, options = {}) {
      const { spawn } = await import('node:child_process')
      const place = placeOf(handle)
      const at = options.cwd === undefined ? handle.cwd : await absolute(handle, options.cwd)
      return execCommand(spawn, command, { ...options, cwd: at, env: { ...place.env, ...options.env } }, place.running)
    },

    async readFile(handle, path) {
      const { readFile } = await import('node:fs/promises')
      return readFile(await absolute(handle, path), 'utf8')
    },

    async writeFile(handle, path, content) {
      const { mkdir, writeFile } = await import('node:fs/promises')
      const { dirname } = await import('node:path')
      const target = await absolute(handle, path)
      await mkdir(dirname(target), { recursive: true })
      await writeFile(target, content)
    },

    async listFiles(handle, path) {
      const { readdir } = await import('node:fs/promises')
      const entries = await readdir(await absolute(handle, path), { withFileTypes: true })
      return entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort()
    },

    async destroy(handle) {
      for (const kill of places.get(handle.id)?.running ?? []) kill()
      places.delete(handle.id)
    },
  }
}

interface Place {
  readonly env: Readonly<Record<string, string>>
  /** How to end what runs there. */
  readonly running: Set<() => void>
}

async function absolute({ cwd }: ExecutionHandle, path: string): Promise<string> {
  const { resolve } = await import('node:path')
  return resolve(cwd, path)
}

/** Longer than any timer can run means no limit. */
const longestTimer = 2 ** 31 - 1
/** How long after its end we listen to a pipe that something left behind still holds. */
const lingerMs = 200

/** Runs in a process group of its own, so that ending it ends everything it started. */
function execCommand(
  spawn: typeof import('node:child_process').spawn,
  command: string,
  options: ExecOptions,
  running: Set<() => void>,
): Promise<ExecResult> {
  const { cwd, env, timeout = defaultTimeoutMs, signal } = options
  signal?.throwIfAborted()
  return new Promise((resolve, reject) => {
    const child = spawn(command, {
      shell: true,
      cwd,
      env: { ...process.env, ...env },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const stdout = tail(child.stdout)
    const stderr = tail(child.stderr)
    const kill = (): void => {
      try {
        if (child.pid) process.kill(-child.pid, 'SIGKILL')
      } catch {
        // it is gone already
      }
    }
    const limit = timeout > 0 && timeout <= longestTimer ? setTimeout(kill, timeout) : undefined
    let linger: NodeJS.Timeout | undefined
    const tidy = (): void => {
      clearTimeout(limit)
      clearTimeout(linger)
      signal?.removeEventListener('abort', kill)
      running.delete(kill)
    }
    const finish = (exitCode: number | null): void => {
      tidy()
      child.stdout.destroy()
      child.stderr.destroy()
      resolve({ stdout: stdout(), stderr: stderr(), exitCode })
    }
    running.add(kill)
    signal?.addEventListener('abort', kill)
    child.once('error', (error) => {
      tidy()
      reject(error)
    })
    child.once('exit', (exitCode) => {
      linger = setTimeout(finish, lingerMs, exitCode)
    })
    child.once('close', finish)
  })
}

/** The end of a stream, bounded. */
function tail(stream: NodeJS.ReadableStream): () => string {
  let chunks: Buffer[] = []
  let size = 0
  stream.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    size += chunk.length
    if (size <= mostOutput * 2) return
    const kept = Buffer.concat(chunks).subarray(-mostOutput)
    chunks = [kept]
    size = kept.length
  })
  return () => Buffer.concat(chunks).subarray(-mostOutput).toString('utf8')
}
