import { type FileInfo, type OpenFile, resolvePosix, shellQuote, type WriteFileOptions } from '../../core/execution.ts'
import { type ShellFiles, shellFiles } from '../files/shell-files.ts'
import { execInSandbox, type RunningSandbox } from './exec.ts'
import { askProvider, codeOf } from './provider.ts'

/** The files of one sandbox. */
export interface SandboxFiles {
  readFile(path: string): Promise<string>
  writeFile(path: string, content: string | Uint8Array, options?: WriteFileOptions): Promise<void>
  listFiles(path: string): Promise<string[]>
  stat(path: string): Promise<FileInfo>
  openFile(path: string): Promise<OpenFile>
}

export interface SandboxFilesOptions {
  readonly hasShell: boolean
  readonly requestTimeoutMs: number
}

/** Uses the file operations of the provider if it has them, else its shell. */
export function sandboxFiles(
  sandbox: RunningSandbox,
  { hasShell, requestTimeoutMs }: SandboxFilesOptions,
): SandboxFiles {
  const { provider, id, cwd } = sandbox
  const byShell = hasShell ? filesByShell(sandbox, requestTimeoutMs) : lacking
  const { readFile, writeFile, listFiles } = provider

  /** If the provider fails, its shell is asked for the reason. */
  async function ask<T>(verb: Verb, path: string, work: (at: string) => Promise<T>): Promise<T> {
    const at = resolvePosix(cwd, path)
    try {
      return await askProvider(provider, `${verb} ${path}`, requestTimeoutMs, () => work(at))
    } catch (error) {
      throw await explained(error, verb, hasShell ? () => byShell.stat(cwd, path) : undefined)
    }
  }

  async function read(path: string): Promise<string> {
    if (!readFile) return byShell.readFile(cwd, path)
    const content = await ask('read', path, (at) => readFile.call(provider, id, at))
    return typeof content === 'string' ? content : Buffer.from(content).toString('utf8')
  }

  return {
    readFile: read,

    async writeFile(path, content, how = {}) {
      // Providers have no stamps: they are those of the shell, or of the content.
      const viaShell = !writeFile || (hasShell && how.ifStamp !== undefined)
      if (viaShell) return byShell.writeFile(cwd, path, content, how)
      if (how.ifStamp !== undefined) await checkContent(read(path), path, how.ifStamp)
      await ask('write', path, (at) => writeFile.call(provider, id, at, content))
    },

    async listFiles(path) {
      if (!listFiles) return byShell.listFiles(cwd, path)
      return [...(await ask('list', path, (at) => listFiles.call(provider, id, at)))].sort()
    },

    stat: (path) => byShell.stat(cwd, path),
    openFile: (path) => byShell.openFile(cwd, path),
  }
}

type Verb = 'read' | 'write' | 'list'

function filesByShell(sandbox: RunningSandbox, requestTimeoutMs: number): ShellFiles {
  return shellFiles({
    keyPrefix: `sandbox:${sandbox.id}`,
    exec(script, { input } = {}) {
      // The scripts need a plain POSIX shell, whatever shell the provider has.
      const options = { cwd: '/', timeout: requestTimeoutMs, ...(input !== undefined && { input }) }
      return execInSandbox(sandbox, `exec sh -c ${shellQuote(script)}`, options)
    },
  })
}

const lack = async (): Promise<never> => {
  throw new Error('This sandbox has no shell, and its provider lacks this operation')
}
const lacking: ShellFiles = { stat: lack, openFile: lack, readFile: lack, writeFile: lack, listFiles: lack }

async function explained(error: unknown, verb: Verb, stat?: () => Promise<FileInfo>): Promise<unknown> {
  if (!(error instanceof Error) || codeOf(error) !== undefined) return error
  const code = stat ? await codeByShell(verb, stat) : codeByText(error.message)
  return code === undefined ? error : Object.assign(error, { code })
}

async function codeByShell(verb: Verb, stat: () => Promise<FileInfo>): Promise<string | undefined> {
  try {
    const { kind } = await stat()
    if (verb === 'list') return kind === 'folder' ? undefined : 'ENOTDIR'
    return kind === 'folder' ? 'EISDIR' : undefined
  } catch (error) {
    const code = codeOf(error)
    return verb === 'write' && code === 'ENOENT' ? undefined : code
  }
}

const codeByText = (message: string) =>
  /not found|no such|does ?n.t exist|not exist|\b404\b/i.test(message) ? 'ENOENT' : undefined

/** Without `stat`, the stamp of a file is the digest of its content. */
async function checkContent(content: Promise<string>, path: string, ifStamp: string | null): Promise<void> {
  const { digestOf } = await import('../../platform/digest.ts')
  const stamp = await content.then(digestOf, (error) => {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  })
  if (stamp !== ifStamp)
    throw Object.assign(new Error(`ESTALE: the file was changed meanwhile, write '${path}'`), { code: 'ESTALE' })
}
