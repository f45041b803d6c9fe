/** Where tools run: this machine, a sandbox, a container. One context serves many handles. */
export interface ExecutionContext {
  readonly type: 'process' | 'docker' | 'sandbox' | (string & {})
  readonly capabilities: ExecutionCapabilities
  spawn(config?: SpawnConfig): Promise<ExecutionHandle>
  /** Resolves when the command has ended, with any exit code. Processes that it left running are ended too. */
  exec(handle: ExecutionHandle, command: string, options?: ExecOptions): Promise<ExecResult>
  /** Rejects with an error whose `code` is `ENOENT` if there is no such file. */
  readFile(handle: ExecutionHandle, path: string): Promise<string>
  /** Creates missing folders. No reader ever sees a half-written file. */
  writeFile(
    handle: ExecutionHandle,
    path: string,
    content: string | Uint8Array,
    options?: WriteFileOptions,
  ): Promise<void>
  /** Names in a folder, sorted; folders end with `/`. */
  listFiles(handle: ExecutionHandle, path: string): Promise<string[]>
  /** Ends everything that was started under this handle. Calling it again does nothing. */
  destroy(handle: ExecutionHandle): Promise<void>

  // Optional; without these, tools use the methods above.
  /** Rejects like `readFile`. Follows links. */
  stat?(handle: ExecutionHandle, path: string): Promise<FileInfo>
  /** For reading a part of a file, or its bytes. Only regular files can be opened. */
  openFile?(handle: ExecutionHandle, path: string): Promise<OpenFile>
  /** Which sandboxes commands can be run in, found out by trying. Without it the context has none. */
  sandbox?(handle: ExecutionHandle): Promise<SandboxSupport>
}

/**
 * The sandboxes for commands. `read-only`: nothing can be written, the home folder is empty, there is no network.
 * `workspace-write`: the workspace can be written too, except its protected paths.
 */
export type SandboxProfile = 'read-only' | 'workspace-write'

/** What a command can reach: decided by the authority, enforced by the execution context. */
export interface Confinement {
  readonly profile: SandboxProfile
  /** What it can read outside the workspace. These paths are absolute, with links resolved. */
  readonly reads: readonly string[]
  /** What it can write outside the workspace; nothing in `read-only`. */
  readonly writes: readonly string[]
  /** What it cannot read although it could otherwise; a star stands for any characters, slashes too. */
  readonly hidden: readonly string[]
  /** The hosts that it can connect to; `any` for the network of this machine. */
  readonly hosts: readonly string[] | 'any'
  /** The home folder: empty, or readable except for its secrets. */
  readonly home: 'empty' | 'readable'
}

/** The sandboxes of an execution context. */
export interface SandboxSupport {
  readonly profiles: readonly SandboxProfile[]
  /** What enforces them, such as `bubblewrap`. */
  readonly by?: string
  /** Why there is none, in words for a person. */
  readonly why?: string
  /** It could not be tried, for a cause that may pass, such as a full disk: there may be one. Must not be taken for a machine without one. */
  readonly isUntried?: true
}

export interface ExecutionCapabilities {
  readonly shell: boolean
  readonly filesystem: boolean
  readonly network: boolean
  readonly gpu: boolean
  /** Commands can run the programs of this machine by their paths. Default false. */
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
  /** The standard input of the command. Default: empty. */
  readonly input?: string | Uint8Array
  /**
   * Called with the output as it comes, in whole characters. `stdout` and `stderr` of the result are then empty: the
   * listener keeps what it needs.
   */
  readonly onOutput?: (text: string, from: 'stdout' | 'stderr') => void
  /** The call that starts the command. After a crash, the next process that opens the session finds the command by it and ends it. */
  readonly call?: { readonly runId: string; readonly callId: string }
  /** Absolute paths of programs and files that the tool itself brings along: the command can read them in a sandbox too. */
  readonly programs?: readonly string[]
  /** A context that cannot enforce it rejects with the code `ENOSANDBOX`, before anything starts. Default: none. */
  readonly confinement?: Confinement
}

export interface ExecResult {
  /** Bounded: the end of very long output. */
  readonly stdout: string
  readonly stderr: string
  /** `null` if a signal or the time limit ended it. */
  readonly exitCode: number | null
  /** The signal that ended it, if known. */
  readonly signal?: string
  /** The time limit ended it. */
  readonly timedOut?: boolean
  /** Command lines of the processes that it left running and that were ended. */
  readonly leftRunning?: readonly string[]
  /** The sandbox that it ran in, and what of its failure the sandbox may have caused: words for the model. */
  readonly sandbox?: { readonly profile: SandboxProfile; readonly hint?: string }
}

export interface WriteFileOptions {
  /** Rejects with the code `ESTALE` and changes nothing unless the file has this stamp. `null`: unless there is no file. */
  readonly ifStamp?: string | null
}

export interface FileInfo {
  /** Absolute, all links resolved. */
  readonly path: string
  /** The same for all paths and handles of one file; different for files of different contexts. */
  readonly key: string
  readonly kind: 'file' | 'folder' | 'other'
  readonly size: number
  readonly mtimeMs: number
  /** Changes whenever the content changes. */
  readonly stamp: string
}

/** An open file: reads concern the file that was checked, even if its path changes meanwhile. */
export interface OpenFile {
  readonly info: FileInfo
  /** Up to `length` bytes from `position`; fewer only at the end. */
  read(position: number, length: number): Promise<Uint8Array>
  close(): Promise<void>
}

/** The error of a context that cannot enforce a confinement. */
export function noSandbox(type: string, profile: SandboxProfile, why?: string): Error & { code: 'ENOSANDBOX' } {
  const reason = why === undefined ? '' : `: ${why}`
  const message = `The command was not run: it must run in the sandbox ${profile}, which the execution context "${type}" does not have${reason}`
  return Object.assign(new Error(message), { code: 'ENOSANDBOX' as const })
}

/** An absolute path without `.` and `..` in an execution context. These are POSIX paths on every machine. */
export function resolvePosix(cwd: string, path: string): string {
  const parts: string[] = []
  for (const part of (path.startsWith('/') ? path : `${cwd}/${path}`).split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `/${parts.join('/')}`
}

/** A text as one quoted word of a POSIX shell. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** A text as one word of a POSIX shell, quoted only if needed: for commands that people read. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : shellQuote(text)
}
