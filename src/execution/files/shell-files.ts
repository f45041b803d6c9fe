import {
  type ExecResult,
  type FileInfo,
  type OpenFile,
  resolvePosix,
  type WriteFileOptions,
} from '../../core/execution.ts'
import { exits, scripts } from './shell-scripts.ts'

interface ShellFilesOptions {
  /** The prefix of every `key`, which names where the files are. */
  readonly keyPrefix: string
  /** Runs a script with a POSIX shell and returns all of its output, up to 2 MiB. */
  readonly exec: (
    command: string,
    options?: { readonly input?: string | Uint8Array; readonly cwd?: string },
  ) => Promise<ExecResult>
}

export interface ShellFiles {
  stat(cwd: string, path: string): Promise<FileInfo>
  openFile(cwd: string, path: string): Promise<OpenFile>
  readFile(cwd: string, path: string): Promise<string>
  writeFile(cwd: string, path: string, content: string | Uint8Array, options?: WriteFileOptions): Promise<void>
  listFiles(cwd: string, path: string): Promise<string[]>
}

/** Bytes per read; fits into one answer when encoded. */
const chunk = 1024 * 1024
/** Smaller files are read when they are opened. */
const mostAtOnce = 256 * 1024

/** File operations through a shell: GNU, busybox or macOS. */
export function shellFiles({ keyPrefix, exec }: ShellFilesOptions): ShellFiles {
  async function ask(verb: string, path: string, script: string, input?: Uint8Array): Promise<string> {
    const done = await exec(script, input && { input })
    if (done.exitCode !== 0) throw failure(verb, path, done)
    return done.stdout
  }

  async function openFile(cwd: string, path: string): Promise<OpenFile> {
    const target = locate(cwd, path)
    const [fields = '', content = '', ...rest] = (await ask('open', path, scripts.open(target, mostAtOnce))).split('\n')
    const { info, identity } = infoOf(keyPrefix, fields, rest.join('\n'))
    const whole = content === '-' ? undefined : decoded(content, path)
    return {
      info,
      async read(position, length) {
        if (whole) return whole.subarray(position, position + length)
        const parts: Buffer[] = []
        for (let got = 0; got < length; ) {
          const script = scripts.read(info.path, identity, position + got, Math.min(length - got, chunk))
          const part = decoded(await ask('read', path, script), path)
          if (part.length === 0) break
          parts.push(part)
          got += part.length
        }
        return Buffer.concat(parts)
      },
      close: async () => {},
    }
  }

  return {
    openFile,

    async stat(cwd, path) {
      const [fields = '', ...rest] = (await ask('look at', path, scripts.stat(locate(cwd, path)))).split('\n')
      return infoOf(keyPrefix, fields, rest.join('\n')).info
    },

    async readFile(cwd, path) {
      const { info, read } = await openFile(cwd, path)
      // Files of /proc report a size of 0.
      return Buffer.from(await read(0, Math.max(info.size, mostAtOnce))).toString('utf8')
    },

    async writeFile(cwd, path, content, { ifStamp } = {}) {
      const bytes = Buffer.from(content)
      const temporary = `.libero-${crypto.randomUUID()}`
      await ask('write', path, scripts.write(locate(cwd, path), bytes.length, temporary, ifStamp), bytes)
    },

    async listFiles(cwd, path) {
      const [first, ...names] = (await ask('list', path, scripts.list(locate(cwd, path)))).split('/')
      if (first !== ':' || names.pop() !== '.') throw cutShort('list', path)
      return names.map((name) => (name.startsWith('d') ? `${name.slice(1)}/` : name.slice(1))).sort()
    },
  }
}

function locate(cwd: string, path: string): string {
  if (path.includes('\0')) throw coded('EINVAL', `A path cannot hold a NUL byte: ${JSON.stringify(path)}`)
  return resolvePosix(cwd, path)
}

/** Parses the output of the `stat` script. */
function infoOf(keyPrefix: string, fields: string, path: string): { info: FileInfo; identity: string } {
  const [kind, size, seconds, modified = '', changed, identity = '', , , checksum] = fields.split('|')
  const fraction = Number(/\.\d+/.exec(modified)?.[0] ?? 0)
  const info: FileInfo = {
    path,
    key: `${keyPrefix}:${path}`,
    kind: kind === 'file' || kind === 'folder' ? kind : 'other',
    size: Number(size),
    mtimeMs: (Number(seconds) + fraction) * 1000,
    stamp: [size, seconds, modified, changed, identity, checksum].join('|'),
  }
  return { info, identity }
}

/** Decodes bytes between two marks; a missing mark shows that the output was cut. */
function decoded(text: string, path: string): Buffer {
  if (!text.startsWith(':') || !text.endsWith('.')) throw cutShort('read', path)
  return Buffer.from(text.slice(1, -1), 'base64')
}

const cutShort = (verb: string, path: string) =>
  new Error(`Cannot ${verb} ${path}: its execution context cut the output of the command short`)

function failure(verb: string, path: string, { exitCode, stdout, stderr, timedOut }: ExecResult): Error {
  if (timedOut) return coded('ETIMEDOUT', `Cannot ${verb} ${path}: the time limit was reached`)
  const scriptCode = Object.entries(exits).find(([, code]) => code === exitCode)?.[0]
  const code = scriptCode === undefined || scriptCode === 'ENOENT' ? (systemCode(stderr) ?? scriptCode) : scriptCode
  if (code === undefined || code === 'incomplete')
    return new Error(`Cannot ${verb} ${path}: ${code ? 'not all bytes arrived' : reasonOf(exitCode, stdout + stderr)}`)
  return coded(code, `${code}: ${meanings[code] ?? 'failed'}, ${verb} '${path}'`)
}

function reasonOf(exitCode: number | null, output: string): string {
  const said = output.trim().split('\n').at(-1)
  return said || `the command ended with ${exitCode === null ? 'a signal' : `exit code ${exitCode}`}`
}

const meanings: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
  EINVAL: 'not a regular file',
  ESTALE: 'the file was changed meanwhile',
  ENOTDIR: 'not a folder',
  ELOOP: 'its links lead round in a circle',
  ENAMETOOLONG: 'the name is too long',
  EPERM: 'operation not permitted',
  EROFS: 'read-only file system',
  ENOSPC: 'no space left on the device',
  EDQUOT: 'the disk quota is used up',
}

/** Messages of glibc, musl and macOS. */
const systemTexts: readonly (readonly [end: RegExp, code: string])[] = [
  [/No such file or directory$/, 'ENOENT'],
  [/Permission denied$/, 'EACCES'],
  [/Operation not permitted$/, 'EPERM'],
  [/(Not a directory|File exists)$/, 'ENOTDIR'],
  [/Is a directory$/, 'EISDIR'],
  [/(Too many levels of symbolic links|Symbolic link loop)$/, 'ELOOP'],
  [/File ?name too long$/i, 'ENAMETOOLONG'],
  [/Read-only file system$/, 'EROFS'],
  [/No space left on device$/, 'ENOSPC'],
  [/quota exceeded$/i, 'EDQUOT'],
]

/** Matches only the end of a line, because a file name before it may contain anything. */
function systemCode(stderr: string): string | undefined {
  for (const line of stderr.split('\n'))
    for (const [end, code] of systemTexts) if (end.test(line.trimEnd())) return code
  return undefined
}

function coded(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}
