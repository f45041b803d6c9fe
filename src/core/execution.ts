/** Where tools touch the world: this machine, a sandbox, a container. One context serves many handles. */
export interface ExecutionContext {
  readonly type: 'process' | 'docker' | 'sandbox' | (string & {})
  readonly capabilities: ExecutionCapabilities
  spawn(config?: SpawnConfig): Promise<ExecutionHandle>
  /** Resolves when the command has ended, whatever its exit code; what it left running ends with it. */
  exec(handle: ExecutionHandle, command: string, options?: ExecOptions): Promise<ExecResult>
  /** Rejects with an error whose `code` is `ENOENT` when there is no such file. */
  readFile(handle: ExecutionHandle, path: string): Promise<string>
  /** Creates missing folders. The file is never seen half written. */
  writeFile(
    handle: ExecutionHandle,
    path: string,
    content: string | Uint8Array,
    options?: WriteFileOptions,
  ): Promise<void>
  /** Names in a folder, sorted; folders end with `/`. */
  listFiles(handle: ExecutionHandle, path: string): Promise<string[]>
  /** Ends everything started under this handle. Doing it twice is harmless. */
  destroy(handle: ExecutionHandle): Promise<void>

  // What a context may leave out; tools then make do with the verbs above.
  /** Rejects like `readFile`. Follows links. */
  stat?(handle: ExecutionHandle, path: string): Promise<FileInfo>
  /** For reading a part of a file, or its bytes. Only regular files can be opened. */
  openFile?(handle: ExecutionHandle, path: string): Promise<OpenFile>
}

export interface ExecutionCapabilities {
  readonly shell: boolean
  readonly filesystem: boolean
  readonly network: boolean
  readonly gpu: boolean
  /** Its commands can run the programs of this machine, by their paths here. Default false. */
  readonly hostPrograms?: boolean
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
  /** What the command reads; without it there is nothing to read. */
  readonly input?: string | Uint8Array
  /**
   * Hears the output as it comes, decoded, never cut through a character. `stdout` and `stderr` of the result stay empty
   * then: whoever listens keeps what it wants.
   */
  readonly onOutput?: (text: string, from: 'stdout' | 'stderr') => void
  /** The call that starts it. After a crash, the next process that opens the session finds and ends the command by it. */
  readonly call?: { readonly runId: string; readonly callId: string }
}

export interface ExecResult {
  /** Bounded: of very long output the end. */
  readonly stdout: string
  readonly stderr: string
  /** `null` when it did not end by itself (a signal, the time limit). */
  readonly exitCode: number | null
  /** The signal it died of, where that is known. */
  readonly signal?: string
  /** The time limit ended it. */
  readonly timedOut?: boolean
  /** Command lines of what was still running when it ended, and was ended with it. */
  readonly leftRunning?: readonly string[]
}

export interface WriteFileOptions {
  /** Rejects with the code `ESTALE`, and leaves the file alone, when it is no longer the one with this stamp. `null`: there must be none. */
  readonly ifStamp?: string | null
}

export interface FileInfo {
  /** Absolute, all links resolved. */
  readonly path: string
  /** The same for the same file, whichever path or handle led to it; different for files of different worlds. */
  readonly key: string
  readonly kind: 'file' | 'folder' | 'other'
  readonly size: number
  readonly mtimeMs: number
  /** Another one whenever the content is another one. */
  readonly stamp: string
}

/** A file held open: what is read is the file that was checked, whatever happens to its name meanwhile. */
export interface OpenFile {
  readonly info: FileInfo
  /** Up to `length` bytes from `position`; fewer only at the end. */
  read(position: number, length: number): Promise<Uint8Array>
  close(): Promise<void>
}

/** An absolute path in another world, without `.` and `..`. Such paths are POSIX paths, whatever this machine is. */
export function resolvePosix(cwd: string, path: string): string {
  const parts: string[] = []
  for (const part of (path.startsWith('/') ? path : `${cwd}/${path}`).split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `/${parts.join('/')}`
}

/** One word for a POSIX shell, whatever is in it. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** A text as one word of a POSIX shell, in quotes only where it needs them: for commands that people read. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : shellQuote(text)
}
