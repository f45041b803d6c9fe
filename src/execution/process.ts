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
  const running = new Map<string, Set<() => void>>()
  let n = 0
  return {
    type: 'process',
    capabilities: { shell: true, filesystem: true, network: true, gpu: false },

    async spawn(config = {}) {
      const handle = { id: `process-${++n}`, type: 'process', cwd: config.cwd ?? cwd ?? process.cwd() }
      running.set(handle.id, new Set())
      return handle
    },

    exec: (handle, command, options = {}) =>
      execCommand(command, { cwd: handle.cwd, ...options, env: { ...env, ...options.env } }, running.get(handle.id)),

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
      for (const kill of running.get(handle.id) ?? []) kill()
      running.delete(handle.id)
    },
  }
}

async function absolute({ cwd }: ExecutionHandle, path: string): Promise<string> {
  const { resolve } = await import('node:path')
  return resolve(cwd, path)
}

/** Runs in a process group of its own, so that ending it ends everything it started. */
async function execCommand(
  command: string,
  options: ExecOptions,
  running: Set<() => void> | undefined,
): Promise<ExecResult> {
  const { spawn } = await import('node:child_process')
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
    const timer = timeout > 0 ? setTimeout(kill, timeout) : undefined
    const tidy = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', kill)
      running?.delete(kill)
    }
    running?.add(kill)
    signal?.addEventListener('abort', kill)
    child.once('error', (error) => {
      tidy()
      reject(error)
    })
    child.once('close', (exitCode) => {
      tidy()
      resolve({ stdout: stdout(), stderr: stderr(), exitCode })
    })
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
