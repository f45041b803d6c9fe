import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, vi } from 'vitest'
import { begun, emptyFolder, place, skipped, unavailable } from '../../../test/bubblewrap-kit.ts'
import { canary, replacements } from '../../../test/replacements.ts'
import { scratchFolder } from '../../../test/sandbox/scene.ts'
import { rounds, sampleOf, testInTurns } from '../../../test/soak.ts'
import { findProgram } from '../../../test/system-programs.ts'

const test = testInTurns(2)

vi.setConfig({ testTimeout: rounds(60_000, 900_000) })

/** Tries to write and to read a path all the time. */
const trying = (path: string): string =>
  `echo > begun; while :; do { echo evil >> '${path}'; echo "$(< '${path}')"; } 2>/dev/null; done`

describe.skipIf(unavailable)(`covered files that another program replaces${skipped}`, () => {
  const cases = Object.keys(replacements).flatMap((way) =>
    ['.npmrc', '.git/info/attributes', 'a hidden file'].map((name) => ({ way, name })),
  )
  describe.each(sampleOf(cases, 3))('a program that $way', ({ way, name }) => {
    test.skipIf(name === 'a hidden file')(`W06 lets no command change ${name}`, async () => {
      for (let round = 0; round < rounds(1, 25); round++) {
        const cwd = repository()
        mkdirSync(join(cwd, '.git/info'), { recursive: true })
        writeFileSync(join(cwd, name), 'old\n')
        const result = await during(cwd, trying(name), () => replacements[way]?.(join(cwd, name)))
        expect({ round, text: readFileSync(join(cwd, name), 'utf8') }).toEqual({ round, text: 'old\n' })
        expect(result.exitCode).toBe(null)
        expect(result.stderr).toContain(`the command was ended: ${join(cwd, name)} was replaced by another program`)
      }
    })

    test.skipIf(name !== 'a hidden file')('W06 shows no command a hidden file', async () => {
      for (let round = 0; round < rounds(1, 25); round++) {
        const cwd = repository()
        const env = join(cwd, '.env')
        writeFileSync(env, `old ${canary}\n`)
        const heard: string[] = []
        const options = { hidden: [env], onOutput: (text: string) => heard.push(text) }
        await during(cwd, trying('.env'), () => replacements[way]?.(env), options)
        expect({ round, heard: heard.join('') }).toEqual({ round, heard: expect.not.stringContaining(canary) })
        expect(heard.join('')).toContain('Its output is withheld, as it may contain that file; run it again')
      }
    })
  })

  test('W06 `git config` in another terminal opens the config of a repository to no command', async () => {
    for (let round = 0; round < rounds(1, 100); round++) {
      const cwd = repository()
      const config = join(cwd, '.git/config')
      const before = readFileSync(config, 'utf8')
      const result = await during(cwd, trying('.git/config'), () => git(cwd, 'config', 'foo.bar', 'baz'))
      expect({ round, text: readFileSync(config, 'utf8') }).toEqual({ round, text: before })
      const [kept] = readdirSync(join(cwd, '.git')).filter((name) => name.startsWith('config.replaced-'))
      expect(result.stderr).toContain(`what was put there meanwhile is in ${join(cwd, '.git', kept ?? 'nothing')}`)
      expect(readFileSync(join(cwd, '.git', kept ?? ''), 'utf8')).toContain('bar = baz')
    }
  })

  test('what git notes about branches stays, because it runs nothing', async () => {
    const cwd = repository()
    git(cwd, 'remote', 'add', 'origin', 'https://host.invalid/x.git')
    const push = ['branch.main.remote', 'branch.main.merge'] as const
    await during(cwd, 'echo > begun; sleep 20', () => {
      git(cwd, 'config', push[0], 'origin')
      git(cwd, 'config', push[1], 'refs/heads/main')
    })
    expect(push.map((key) => git(cwd, 'config', key))).toEqual(['origin\n', 'refs/heads/main\n'])
    const before = readFileSync(join(cwd, '.git/config'), 'utf8')
    await during(cwd, 'echo > begun; sleep 20', () => git(cwd, 'config', push[0], 'https://other.invalid/x.git'))
    expect(readFileSync(join(cwd, '.git/config'), 'utf8')).toBe(before)
  })

  test('a placeholder that another program removes ends the command too, and nothing comes into being there', async () => {
    const cwd = repository()
    await during(cwd, trying('.npmrc'), () => {
      for (const name of readdirSync(join(cwd, '.npmrc'))) rmdirSync(join(cwd, '.npmrc', name))
      rmdirSync(join(cwd, '.npmrc'))
    })
    expect(existsSync(join(cwd, '.npmrc')) && readFileSync(join(cwd, '.npmrc'), 'utf8')).toBe(false)
  })

  test('a protected folder that another program replaces ends the command, and what was put there is set aside', async () => {
    const cwd = repository()
    const folder = join(cwd, '.vscode')
    mkdirSync(folder)
    writeFileSync(join(folder, 'tasks.json'), 'old')
    await during(cwd, trying('.vscode/tasks.json'), () => {
      renameSync(folder, join(cwd, 'moved'))
      mkdirSync(folder)
    })
    expect(readFileSync(join(cwd, 'moved/tasks.json'), 'utf8')).toBe('old')
    expect(existsSync(join(folder, 'tasks.json'))).toBe(false)
  })

  test('a program that writes a covered file in place disturbs nothing', async () => {
    const cwd = repository()
    writeFileSync(join(cwd, '.npmrc'), 'old\n')
    const command = 'echo > begun; while [ ! -e go ]; do sleep 0.01; done; echo done'
    const result = await during(cwd, command, () => {
      writeFileSync(join(cwd, '.npmrc'), 'new\n')
      writeFileSync(join(cwd, 'go'), '')
    })
    expect(result).toMatchObject({ stdout: 'done\n', exitCode: 0 })
    expect(readFileSync(join(cwd, '.npmrc'), 'utf8')).toBe('new\n')
  })

  test.each(['hooks', '.git'])(
    'W06 a link that takes the place of a mount while a sandbox is built (%s) leads its command nowhere',
    async (name) => {
      // Not below a temporary folder, which the sandbox replaces; and relative, as no other link leads anywhere while it is built.
      const both = scratchFolder('links-')
      onTestFinished(() => rmSync(both, { recursive: true, force: true }))
      const [cwd, outside] = [join(both, 'cwd'), join(both, 'outside')]
      const at = name === 'hooks' ? 'sub/.git/hooks' : 'sub'
      const [to, swapped] = [name === 'hooks' ? '../../../outside/.git/hooks' : '../outside', join(cwd, 'swapped')]
      // What another command, which made the repository, could do at that moment.
      const bwrap = join(emptyFolder(), 'bwrap')
      const swap = `[ ! -e ${cwd}/sub ] || [ -e ${swapped} ] || { : > ${cwd}/now; sleep 0.3; mv ${cwd}/${at} ${swapped}; ln -s ${to} ${cwd}/${at}; }`
      writeFileSync(bwrap, `#!/bin/sh\n${swap}\nexec ${findProgram('bwrap')} "$@"\n`, { mode: 0o755 })
      mkdirSync(cwd)
      const { run } = await place({ cwd, bwrap })
      for (const repository of [join(cwd, 'sub'), outside]) {
        execFileSync('git', ['init', '-q', repository])
        mkdirSync(join(repository, '.git/hooks'), { recursive: true })
        writeFileSync(join(repository, '.git/hooks/x'), canary)
      }
      // While this process is busy it hears of nothing, and can kill nothing.
      const busy = setInterval(() => {
        if (!existsSync(join(cwd, 'now'))) return
        clearInterval(busy)
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500)
      }, 20)
      const ran = run('echo evil > sub/evil; cat sub/.git/hooks/x').finally(() => clearInterval(busy))
      // It is ended, or it was not even begun: bubblewrap refuses some mounts at a link.
      const { exitCode, stdout, stderr } = await ran.catch(({ message }: Error) => ({
        ...{ exitCode: null, stdout: '', stderr: message },
      }))
      expect({ exitCode, stdout }).toEqual({ exitCode: null, stdout: '' })
      expect(stderr).toMatch(/was replaced by another program|could not be built, and nothing was run/)
      expect(existsSync(join(outside, 'evil'))).toBe(false)
    },
  )

  test('S06 a command that makes a commondir is ended at once, and the file is taken away', async () => {
    const cwd = repository()
    const { run } = await place({ cwd })
    const result = await run('echo ../evil > .git/commondir; sleep 20; echo went on')
    expect(result).toMatchObject({ stdout: '', exitCode: null })
    expect(result.stderr).toContain('.git/commondir was created and taken away again')
    expect(readdirSync(join(cwd, '.git'))).not.toContain('commondir')
  })
})

describe.skipIf(unavailable)(`repositories that a command makes${skipped}`, () => {
  const makes: Readonly<Record<string, readonly [config: string, command: string]>> = {
    'a nested repository': ['sub/.git/config', 'git init -q sub && cd sub && git config core.fsmonitor ../evil'],
    'a bare repository': [
      'docs/x/config',
      'git init -q --bare docs/x && git --git-dir docs/x config diff.external ../evil',
    ],
  }

  test.each(Object.entries(makes))(
    'S06 %s that names a program is told of at once, and protected from the next command on',
    async (_, [config, command]) => {
      const cwd = repository()
      const { run } = await place({ cwd })
      const { stderr, exitCode } = await run(command)
      expect({ exitCode, stderr }).toEqual({
        exitCode: 0,
        stderr: expect.stringMatching(/is new, and git would run programs there \((core.fsmonitor|diff.external)\)/),
      })
      const made = readFileSync(join(cwd, config), 'utf8')
      const folder = dirname(config)
      const again = await run(
        `echo evil >> ${config}; mkdir -p ${folder}/hooks; echo evil > ${folder}/hooks/post-checkout; rm -rf ${folder}; mv ${folder} moved; true`,
      )
      expect(again.stderr).not.toContain('is new')
      expect(readFileSync(join(cwd, config), 'utf8')).toBe(made)
      expect(existsSync(join(cwd, folder, 'hooks/post-checkout'))).toBe(false)
    },
  )

  test('S06 git inside does not use a bare repository that lies in the workspace, nor a program for fsmonitor', async () => {
    const cwd = repository()
    const { run } = await place({ cwd })
    await run('git init -q --bare bare && git init -q sub && git -C sub config core.fsmonitor "touch ../ran; false"')
    const { stderr, exitCode } = await run('cd bare && git log')
    expect({ exitCode, stderr }).toEqual({
      exitCode: 128,
      stderr: expect.stringContaining('cannot use bare repository'),
    })
    await run('cd sub && git status')
    expect(existsSync(join(cwd, 'ran'))).toBe(false)
  })
})

/** What another program does while a command runs. */
async function during(
  cwd: string,
  command: string,
  other: () => void,
  { hidden, onOutput }: { hidden?: readonly string[]; onOutput?: (text: string) => void } = {},
) {
  rmSync(join(cwd, 'begun'), { force: true })
  const { run, context, handle } = await place({ cwd, ...(hidden && { hidden }) })
  const running = run(command, { timeout: 20_000, ...(onOutput && { onOutput }) })
  await begun(cwd)
  other()
  const result = await running
  await context.destroy(handle)
  return result
}

function repository(): string {
  const cwd = emptyFolder()
  git(cwd, 'init', '-q')
  return cwd
}

function git(cwd: string, ...args: string[]): string {
  return execFileSync('git', args, { cwd, encoding: 'utf8' })
}
