import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { codeOf } from '../../core/errors.ts'
import { programEnv } from '../../platform/program-path.ts'

interface ExternalEditorOptions {
  /** `VISUAL` comes before `EDITOR`; both may have arguments and are read by the shell, as git does it. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Gives the terminal to another program while `run` runs: raw mode off, live lines cleared. */
  readonly suspend?: <T>(run: () => Promise<T>) => Promise<T>
}

/** Lets the person change a text in their own editor. Resolves with `undefined` if they left it unchanged. */
export async function editExternally(text: string, options: ExternalEditorOptions): Promise<string | undefined> {
  const { env, suspend = (run) => run() } = options
  const editor = editorOf(env)
  const folder = await mkdtemp(join(tmpdir(), 'libero-message-')) // mode 0700
  try {
    const file = join(folder, 'message.md')
    await writeFile(file, text, { mode: 0o600, flag: 'wx' })
    await suspend(() => run(editor, file, env))
    const edited = withoutLastNewline(await readFile(file, 'utf8'))
    return edited === withoutLastNewline(text) ? undefined : edited
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function editorOf({ VISUAL, EDITOR }: ExternalEditorOptions['env']): string {
  const editor = VISUAL?.trim() || EDITOR?.trim()
  if (!editor) throw new Error("No editor is set; set VISUAL or EDITOR, for example: export EDITOR='nano'")
  const program = basename(/^\S+/.exec(editor)![0])
  const flag = waitFlags[program]
  if (flag && !/\s(?:-w|--wait|-f|--nofork)\b/.test(editor))
    throw new Error(`${program} returns before the text is edited; set EDITOR='${editor} ${flag}'`)
  return editor
}

/** Editors that open a window and return, unless an option makes them wait. */
const waitFlags: Readonly<Record<string, string>> = {
  code: '--wait',
  'code-insiders': '--wait',
  codium: '--wait',
  cursor: '--wait',
  windsurf: '--wait',
  zed: '--wait',
  subl: '--wait',
  mate: '-w',
  gvim: '-f',
  mvim: '-f',
}

async function run(editor: string, file: string, env: ExternalEditorOptions['env']): Promise<void> {
  const isWindows = process.platform === 'win32'
  const [program, args] = isWindows
    ? [`${editor} "${file}"`, []]
    : ['/bin/sh', ['-c', `${editor} "$@"`, 'editor', file]]
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const child = spawn(program, args, {
    stdio: 'inherit',
    shell: isWindows,
    env: programEnv(env),
  })
  child.once('error', (cause) =>
    reject(new Error(`The editor ${editor} cannot be started (${codeOf(cause)})`, { cause })),
  )
  child.once('close', (code, signal) => resolve(signal ?? String(code)))
  const ending = await promise
  if (ending === '127') throw new Error(`There is no editor ${editor}; set VISUAL or EDITOR to one that is installed`)
  if (ending !== '0') throw new Error(`The editor ${editor} ended with ${ending}; the text is as it was`)
}

/** Most editors end a file with a newline. */
const withoutLastNewline = (text: string): string => text.replace(/\r?\n$/, '')
