/** Where tools touch the world: this machine, a sandbox, a container. One context serves many handles. */
export interface ExecutionContext {
  readonly type: 'process' | 'docker' | 'sandbox' | (string & {})
  readonly capabilities: ExecutionCapabilities
  spawn(config?: SpawnConfig): Promise<ExecutionHandle>
  exec(handle: ExecutionHandle, command: string, options?: ExecOptions): Promise<ExecResult>
  /** Rejects with an error whose `code` is `ENOENT` when there is no such file. */
  readFile(handle: ExecutionHandle, path: string): Promise<string>
  /** Creates missing folders. */
  writeFile(handle: ExecutionHandle, path: string, content: string): Promise<void>
  /** Names in a folder, sorted; folders end with `/`. */
  listFiles(handle: ExecutionHandle, path: string): Promise<string[]>
  /** Ends everything started under this handle. Doing it twice is harmless. */
  destroy(handle: ExecutionHandle): Promise<void>
}

export interface ExecutionCapabilities {
  readonly shell: boolean
  readonly filesystem: boolean
  readonly network: boolean
  readonly gpu: boolean
}

export interface ExecutionHandle {
  readonly id: string
  readonly type: string
  readonly cwd: string
}

export interface SpawnConfig {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

export interface ExecOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** Milliseconds; 0 means none. */
  readonly timeout?: number
  readonly signal?: AbortSignal
}

export interface ExecResult {
  readonly stdout: string
  readonly stderr: string
  /** `null` when it did not end by itself (a signal, the time limit). */
  readonly exitCode: number | null
}
