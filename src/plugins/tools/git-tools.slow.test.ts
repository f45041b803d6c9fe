import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect } from 'vitest'
import { testInTurns } from '../../../test/soak.ts'
import { systemClock } from '../../core/clock.ts'
import { createAgent, createProcessContext } from '../../index.ts'
import { call, memoryExecution, scripted } from '../../testing/index.ts'
import { gitLogPlugin } from './git-log.ts'
import { gitReadFilePlugin } from './git-read-file.ts'

// Each of them makes repositories.
const test = testInTurns(3)

let root = ''
let repo = ''
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'git-test-'))
  repo = join(root, 'repo')
  await mkdir(repo)
  await mkdir(join(root, 'plain'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

const person = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.org', '-c', 'commit.gpgsign=false']

function git(...args: string[]): string {
  const env = { PATH: process.env.PATH ?? '', HOME: root, GIT_CONFIG_NOSYSTEM: '1' }
  return execFileSync('git', [...person, ...args], { cwd: repo, env, encoding: 'utf8', stdio: 'pipe' }).trim()
}

async function commit(files: Readonly<Record<string, string | Uint8Array>>, subject: string): Promise<string> {
  if (!existsSync(join(repo, '.git'))) git('init', '-q', '-b', 'main')
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(repo, path, '..'), { recursive: true })
    await writeFile(join(repo, path), content)
  }
  git('add', '-A')
  git('commit', '-q', '--allow-empty', '-m', subject)
  return git('rev-parse', 'HEAD')
}

async function use(name: 'git-log' | 'git-read-file', input: object, options: { cwd?: string; shell?: false } = {}) {
  const execution = options.shell === false ? memoryExecution() : createProcessContext({ cwd: options.cwd ?? repo })
  const plugin = name === 'git-log' ? gitLogPlugin : gitReadFilePlugin
  const knowledge = {
    workspaces: async () => [{ name: 'notes', folder: repo }],
    open: () => Promise.reject(new Error('not needed')),
  }
  const services = { agentId: 'a', clock: systemClock, knowledge }
  const [tool] = plugin.tools!({ config: {}, entry: { id: '1', toolId: name }, services })
  const provider = scripted([call('1', name, { ...input })], 'fin')
  const agent = createAgent({ provider, execution, tools: { tool: tool! } })
  let details: unknown
  agent.hooks.hook('tool:after', (done) => void (details = done.details))
  await agent.run({ prompt: 'go' })
  await agent.destroy()
  const [result] = provider.requests[1]!.messages.at(-1)!.content
  if (result?.type !== 'tool_result') throw new Error('no result')
  return { output: String(result.output), isError: result.isError ?? false, details }
}

const log = (input: object = {}, options = {}) => use('git-log', input, options)
const read = (input: object, options = {}) => use('git-read-file', input, options)
const subjects = (output: string): string[] => output.split('\n').flatMap((line) => /Ann: (.*)$/.exec(line)?.[1] ?? [])

describe('git-log', () => {
  test('shows commits, newest first, as many as asked for, and says that there are more', async () => {
    const hash = await commit({ 'a.txt': '1' }, 'first')
    await commit({ 'b.txt': '1' }, 'second')
    await commit({ 'a.txt': '2' }, 'third')
    const { output, details } = await log()
    expect(subjects(output)).toEqual(['third', 'second', 'first'])
    expect(output).toMatch(new RegExp(`${hash.slice(0, 12)} \\d{4}-\\d\\d-\\d\\dT[\\d:]+\\S+ Ann: first$`))
    expect(details).toMatchObject({ commits: [{ subject: 'third', author: 'Ann' }, {}, { hash }] })
    const two = await log({ limit: 2 })
    expect(subjects(two.output)).toEqual(['third', 'second'])
    expect(two.output).toContain('(2 commits are shown, there are more)')
    expect(subjects((await log({ path: 'a.txt' })).output)).toEqual(['third', 'first'])
    expect(subjects((await log({ ref: 'HEAD~1' })).output)).toEqual(['second', 'first'])
    expect((await log({ author: 'bob' })).output).toContain('no commit fits')
    expect(subjects((await log({ author: 'ANN@example', since: '2 days ago' })).output)).toHaveLength(3)
    expect((await log({ author: 'A.n' })).output).toContain('no commit fits')
    expect((await log({ until: '2001-01-01' })).output).toContain('no commit fits')
  })

  test('shows 200 at most', async () => {
    await commit({}, 'start')
    const stream = Array.from(
      { length: 230 },
      (_, i) => `commit refs/heads/many\ncommitter Ann <ann@example.org> ${1_700_000_000 + i} +0000\ndata 2\nc\n`,
    )
    execFileSync('git', ['fast-import', '--quiet'], { cwd: repo, input: stream.join('\n') })
    const { output } = await log({ ref: 'many', limit: 9999 })
    expect(subjects(output)).toHaveLength(200)
    expect(output).toContain('(200 commits are shown, there are more)')
    expect(subjects((await log({ ref: 'many' })).output)).toHaveLength(20)
  })

  test('uses the folder of a wiki if one is named', async () => {
    await commit({ 'a.txt': '1' }, 'in the wiki')
    expect(subjects((await log({ workspaceName: 'notes' }, { cwd: join(root, 'plain') })).output)).toEqual([
      'in the wiki',
    ])
  })

  test('makes control characters in names visible, and cuts long names', async () => {
    await commit({ 'a.txt': '1' }, `\x1b[2J${'s'.repeat(5000)}`)
    const [subject] = subjects((await log()).output)
    expect(subject).toMatch(/^␛\[2Js+…$/)
    expect(subject!.length).toBeLessThan(310)
  })

  test('reports a missing repository, commit, ref or shell', async () => {
    expect((await log({}, { cwd: join(root, 'plain') })).output).toContain('not in a git repository')
    git('init', '-q')
    expect((await log()).output).toContain('the repository has no commits yet')
    expect((await read({ path: 'x' })).output).toContain('the repository has no commits yet')
    await commit({}, 'x')
    expect((await log({ ref: 'nowhere' })).output).toMatch(/git failed \(exit 128\): .*nowhere/)
    expect((await log({}, { shell: false })).output).toContain('has no shell')
  })
})

describe('git-read-file', () => {
  const lines = (from: number, to: number): string =>
    Array.from({ length: to - from + 1 }, (_, i) => `line ${from + i}`).join('\n')

  test('reads a file at a commit, at most 500 lines, with a note on how to read on', async () => {
    const old = await commit({ 'sub/a.txt': 'old\n', 'long.txt': `${lines(1, 1200)}\n` }, 'first')
    await commit({ 'sub/a.txt': 'new\n' }, 'second')
    await writeFile(join(repo, 'sub/a.txt'), 'not committed')
    expect((await read({ path: 'sub/a.txt' })).output).toBe('new')
    expect((await read({ path: './sub/../sub/a.txt', ref: old })).output).toBe('old')
    expect((await read({ path: 'a.txt', ref: old }, { cwd: join(repo, 'sub') })).output).toBe('old')
    expect((await read({ path: 'long.txt' })).output).toBe(
      `${lines(1, 500)}\n\n(lines 1-500 of 1200; go on with startLine=501)`,
    )
    const far = await read({ path: 'long.txt', startLine: 1000, endLine: 9999 })
    expect(far.output).toBe(`${lines(1000, 1200)}\n\n(lines 1000-1200 of 1200)`)
    expect(far.details).toMatchObject({ lines: { first: 1000, last: 1200, total: 1200 } })
    expect((await read({ path: 'long.txt', startLine: 5, endLine: 6 })).output).toMatch(
      /^line 5\nline 6\n\n\(lines 5-6 of 1200\)$/,
    )
    expect((await read({ path: 'long.txt', startLine: 1, endLine: 1000 })).output).toContain(
      '(lines 1-500 of 1200; go on',
    )
    expect((await read({ path: 'long.txt', startLine: 1201 })).output).toContain(
      'beyond the end: the file has 1200 lines',
    )
    expect((await read({ path: 'long.txt', startLine: 9, endLine: 8 })).output).toContain(
      'endLine 8 comes before startLine 9',
    )
  })

  test('reports binary, empty, linked, long and missing files, and folders', async () => {
    await mkdir(join(repo, 'folder'), { recursive: true })
    await symlink('/etc/passwd', join(repo, 'link'))
    const wide = `${'w'.repeat(10_000)}\n`.repeat(100)
    await commit({ 'bin.dat': new Uint8Array([1, 0, 2]), empty: '', 'folder/x': 'x', 'wide.txt': wide }, 'all')
    expect((await read({ path: 'bin.dat' })).output).toBe('[binary file: 3 bytes]')
    expect((await read({ path: 'empty' })).output).toBe('(empty file)')
    expect((await read({ path: 'link' })).output).toBe('[a link to /etc/passwd]')
    expect((await read({ path: 'folder/' })).output).toContain('"folder/" at HEAD is a folder')
    expect((await read({ path: 'nope' })).output).toContain('there is no file "nope" at HEAD')
    expect((await read({ path: 'empty', ref: 'nowhere' })).output).toContain('no commit, branch or tag nowhere')
    const { output } = await read({ path: 'wide.txt' })
    expect(output.length).toBeLessThan(270_000)
    expect(output).toContain('w… [10000 characters]')
    expect(output).toMatch(/\(lines 1-65 of 100; go on with startLine=66\)$/)
    expect((await read({ path: 'x' }, { cwd: join(root, 'plain') })).output).toContain('not in a git repository')
  })

  test('refuses a file that is too big before it is read', async () => {
    await commit({ 'big.txt': 'x\n'.repeat(6 * 1024 * 1024) }, 'big')
    expect((await read({ path: 'big.txt' })).output).toContain('has 12582912 bytes, more than the 10485760')
  })
})

describe('a hostile repository or call', () => {
  const names = [
    '--output=x',
    '-n1',
    'two words',
    'new\nline',
    ':(glob)*',
    "it's",
    '$(touch pwned)',
    '`id`',
    'ü.txt',
    '*',
  ]

  test('names that look like options, patterns or commands are names', async () => {
    for (const name of names) await commit({ [name]: `content of ${name}` }, 'c')
    for (const name of names) {
      expect((await read({ path: name })).output, name).toBe(`content of ${name}`)
      expect(subjects((await log({ path: name })).output), name).toHaveLength(1)
    }
    expect(existsSync(join(repo, 'pwned'))).toBe(false)
  })

  test.each(['--output=pwned', '--all', '-p', '--exec=touch pwned', '$(touch pwned)', "'; touch pwned; '"])(
    'the ref %s is no option and no command',
    async (ref) => {
      await commit({ a: '1' }, 'only')
      for (const { isError } of [await log({ ref }), await read({ path: 'a', ref })]) expect(isError).toBe(true)
      expect((await read({ path: 'main', ref: '-r' })).output).toContain('no commit, branch or tag -r')
      for (const field of ['since', 'until', 'author']) await log({ [field]: ref })
      expect(existsSync(join(repo, 'pwned'))).toBe(false)
    },
  )

  test.each(['../plain/secret', '/etc/passwd', 'sub/../../plain/secret', '..', ''])(
    'the path %j leads nowhere',
    async (path) => {
      await commit({ 'sub/a': '1' }, 'only')
      await writeFile(join(root, 'plain', 'secret'), 'secret')
      expect(await read({ path })).toMatchObject({
        isError: true,
        output: expect.stringMatching(/leads out|is no path/),
      })
      if (path !== '') expect(await log({ path })).toMatchObject({ isError: true })
    },
  )

  test.each<[string, (at: string) => Promise<unknown>]>([
    ['a link', (at) => symlink(join(repo, '.git'), join(at, '.git'))],
    ['a file that names it', (at) => writeFile(join(at, '.git'), `gitdir: ${join(repo, '.git')}\n`)],
    [
      'a folder that shares with it',
      async (at) => {
        execFileSync('git', ['init', '-q', '-b', 'main', at], { env: { PATH: process.env.PATH ?? '', HOME: root } })
        await writeFile(join(at, '.git/commondir'), join(repo, '.git'))
      },
    ],
    [
      'a folder with its objects',
      async (at) => {
        execFileSync('cp', ['-R', join(repo, '.git'), join(at, '.git')])
        await rm(join(at, '.git/objects'), { recursive: true })
        await symlink(join(repo, '.git/objects'), join(at, '.git/objects'))
      },
    ],
  ])('the history of another folder is not read through %s', async (_, lead) => {
    await commit({ secret: 'private' }, 'only')
    const cwd = join(root, 'plain')
    await lead(cwd)
    for (const { output, isError } of [await log({}, { cwd }), await read({ path: 'secret' }, { cwd })]) {
      expect(isError).toBe(true)
      expect(output).toMatch(/leads to another repository/)
    }
  })

  test('worktrees, submodules and folders inside have the history they belong to', async () => {
    await commit({ 'sub/a': 'text\n' }, 'only')
    git('worktree', 'add', '-q', join(root, 'tree'))
    git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', repo, 'module')
    const folders = { [join(root, 'tree')]: 'sub/a', [join(repo, 'module')]: 'sub/a', [join(repo, 'sub')]: 'a' }
    for (const [cwd, path] of Object.entries(folders)) expect((await read({ path }, { cwd })).output).toBe('text')
  })

  test('no configured program is run', async () => {
    const proof = join(root, 'pwned')
    const program = join(root, 'evil.sh')
    await writeFile(program, `#!/bin/sh\ntouch '${proof}'\ncat "$@" 2>/dev/null\n`)
    await chmod(program, 0o755)
    await commit({ a: 'text\n', '.gitattributes': '* diff=evil filter=evil\n' }, 'only')
    const missing = git('rev-parse', 'HEAD:a')
    const settings = {
      'core.fsmonitor': program,
      'core.pager': program,
      'pager.log': program,
      'core.hooksPath': root,
      'diff.external': program,
      'diff.evil.textconv': program,
      'diff.evil.command': program,
      'filter.evil.smudge': program,
      'log.showSignature': 'true',
      'gpg.program': program,
      'core.sshCommand': program,
      'remote.origin.url': `ext::${program}`,
      'remote.origin.promisor': 'true',
      'protocol.ext.allow': 'always',
      'remote.origin.uploadpack': program,
      'extensions.partialClone': 'origin',
      'core.repositoryFormatVersion': '1',
    }
    // A commit that claims to be signed, so that git would check it.
    const [head = '', ...rest] = git('cat-file', 'commit', 'HEAD').split('\n\n')
    const signed = `${head}\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n${rest.join('\n\n')}\n`
    const id = execFileSync('git', ['hash-object', '-t', 'commit', '-w', '--stdin'], { cwd: repo, input: signed })
    git('update-ref', 'refs/heads/main', id.toString().trim())
    for (const [name, value] of Object.entries(settings)) git('config', name, value)
    expect(subjects((await log({ path: 'a' })).output)).toEqual(['only'])
    expect((await read({ path: 'a' })).output).toBe('text')
    // An object that is not there would be fetched, by the program.
    await rm(join(repo, '.git/objects', missing.slice(0, 2), missing.slice(2)), { force: true })
    expect((await read({ path: 'a' })).output).toContain('is not in this clone of the repository')
    expect(existsSync(proof)).toBe(false)
    git('-c', 'core.fsmonitor=false', 'log', '-1')
    expect(existsSync(proof)).toBe(true) // plain git falls for it
  })
})

test('both only read: without an approval in the workspace, elsewhere with one', () => {
  const services = { agentId: 'a', clock: systemClock }
  for (const plugin of [gitLogPlugin, gitReadFilePlugin]) {
    const [tool] = plugin.tools!({ config: {}, entry: { id: '1', toolId: plugin.toolId }, services })
    expect(tool).toMatchObject({ replay: 'pure', effects: ['fs.read'], isConcurrencySafe: true })
    expect(tool!.touches!({ path: 'a' })).toEqual([{ path: 'a', access: 'read' }])
    expect(tool!.touches!({ path: 'a', workspaceName: 'notes' })).toEqual([])
    expect(plugin.defaultApproval).toBeUndefined()
  }
  const [reading] = gitReadFilePlugin.tools!({ config: {}, entry: { id: '1', toolId: 'git-read-file' }, services })
  const keys = [
    { path: 'a/b' },
    { path: 'w/a/b' },
    { path: 'a/b', workspaceName: 'w' },
    { path: 'b', workspaceName: 'w/a' },
  ].map((input) => reading!.deriveApprovalKey!(input))
  expect(new Set(keys).size).toBe(4)
})
