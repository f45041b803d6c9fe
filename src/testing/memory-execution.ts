import type { ExecOptions, ExecResult, ExecutionContext } from '../core/execution.ts'
import { resolvePosix } from '../core/execution.ts'

export interface MemoryExecution extends ExecutionContext {
  /** The whole file system, by absolute path. */
  readonly files: Map<string, string>
  /** How often each was called. */
  readonly counts: { spawn: number; destroy: number }
}

/** An execution context in memory: files in a Map, commands run by a function. */
export function memoryExecution({
  files = {},
  cwd = '/project',
  exec,
}: {
  readonly files?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Runs commands; without it every command fails as unknown. */
  readonly exec?: (command: string, options: ExecOptions) => Partial<ExecResult> | Promise<Partial<ExecResult>>
} = {}): MemoryExecution {
  const tree = new Map(Object.entries(files).map(([path, content]) => [resolvePosix(cwd, path), content]))
  const counts = { spawn: 0, destroy: 0 }
  return {
    type: 'memory',
    capabilities: { shell: exec !== undefined, filesystem: true, network: false, gpu: false },
    files: tree,
    counts,
    async spawn(config = {}) {
      return { id: `memory-${++counts.spawn}`, type: 'memory', cwd: config.cwd ?? cwd }
    },
    // It can reach nothing but its own files.
    sandbox: async () => ({ profiles: ['read-only', 'workspace-write'], by: 'memory' }),
    async exec(_, command, options = {}) {
      options.signal?.throwIfAborted()
      const unknown = { stderr: `${command}: command not found`, exitCode: 127 }
      return { stdout: '', stderr: '', exitCode: 0, ...(await (exec?.(command, options) ?? unknown)) }
    },
    async readFile(handle, path) {
      const content = tree.get(resolvePosix(handle.cwd, path))
      if (content === undefined) throw Object.assign(new Error(`ENOENT: no such file: ${path}`), { code: 'ENOENT' })
      return content
    },
    async writeFile(handle, path, content) {
      tree.set(
        resolvePosix(handle.cwd, path),
        typeof content === 'string' ? content : new TextDecoder().decode(content),
      )
    },
    async listFiles(handle, path) {
      const folder = `${resolvePosix(handle.cwd, path)}/`.replace('//', '/')
      const inside = [...tree.keys()].filter((name) => name.startsWith(folder)).map((name) => name.slice(folder.length))
      if (inside.length === 0 && resolvePosix(handle.cwd, path) !== handle.cwd)
        throw Object.assign(new Error(`ENOENT: no such folder: ${path}`), { code: 'ENOENT' })
      return [...new Set(inside.map((name) => name.replace(/\/.*/, '/')))].sort()
    },
    async destroy() {
      counts.destroy++
    },
  }
}
