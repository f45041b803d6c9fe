import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { commands } from '../../src/cli/commands.ts'
import { bashScript } from '../../src/cli/completion/bash.ts'
import { type CompletionContext, completionContexts } from '../../src/cli/completion/completion.ts'
import { fishScript } from '../../src/cli/completion/fish.ts'
import { zshScript } from '../../src/cli/completion/zsh.ts'
import { fakeIo, runLibero } from './fake-io.ts'

let spots: readonly CompletionContext[]
beforeAll(async () => {
  spots = completionContexts(await Promise.all(commands.map((listed) => listed.load())))
})

/** What must be offered after which words; `not` must not be. The same for every shell. */
const lines: readonly {
  readonly words: readonly string[]
  readonly offers: readonly string[]
  readonly not?: readonly string[]
}[] = [
  { words: [''], offers: commands.map(({ name }) => name), not: ['--mode'] },
  { words: ['se'], offers: ['sessions'], not: ['run'] },
  { words: ['--pro'], offers: ['--prompt', '--provider', '--profile'], not: ['--mode'] },
  { words: ['run', '--mo'], offers: ['--model', '--mode'], not: ['--provider'] },
  { words: ['run', '--mode', ''], offers: ['ask', 'allowlist', 'yolo', 'plan'], not: ['run'] },
  { words: ['--mode', 'a'], offers: ['ask', 'allowlist'], not: ['yolo'] },
  { words: ['config', ''], offers: ['show', 'get', 'set', 'unset', 'path'], not: ['sessions'] },
  { words: ['config', '--'], offers: ['--json', '--help'] },
  { words: ['config', 'show', '--j'], offers: ['--json'] },
  { words: ['completion', ''], offers: ['bash', 'zsh', 'fish'] },
  { words: ['run', '--resume', '--js'], offers: ['--json'] },
  { words: ['run', '--schema', 'sch'], offers: ['schema one.json'], not: ['other'] },
  { words: ['run', '--cwd', 's'], offers: ['src'], not: ['schema one.json'] },
  { words: ['run', 'config', ''], offers: [], not: ['show'] },
]

describe.skipIf(!find('bash', 'apt-get install bash'))('bash', () => {
  test.each(lines)('offers $offers after $words', ({ words, offers, not = [] }) => {
    expectOffers(inBash(words), offers, not)
  })

  test('offers the values of --flag=', () => {
    expectOffers(inBash(['run', '--mode', '=', 'y']), ['yolo'], ['ask'])
    expectOffers(inBash(['run', '--mode', '=']), ['ask', 'yolo'], ['run'])
  })

  test('after -- no flags are offered', () => {
    expectOffers(inBash(['policy', 'explain', '--', '-']), [], ['--help', '-h'])
  })

  test('a file named * is offered as it is', () => {
    expect(inBash(['run', '--schema', '']).said.toSorted()).toEqual(['*', 'other', 'schema one.json', 'src'])
  })

  test('nothing on the line is run', () => {
    const { said, folder } = inBash(['run', '--mode', '$(touch was-run)`touch was-run`'])
    expect({ said, made: filesIn(folder) }).toEqual({ said: [], made: ['*', 'other', 'schema one.json', 'src'] })
  })

  function inBash(words: readonly string[]): Offered {
    const offers = `_libero; for one in "\${COMPREPLY[@]}"; do printf '%s\\n' "$one"; done`
    const script = `${bashScript(spots)}\nCOMP_WORDS=(libero "$@"); COMP_CWORD=$#; ${offers}`
    return shell('bash', ['--norc', '-c', script, 'bash', ...words])
  }
})

describe.skipIf(!find('zsh', 'apt-get install zsh'))('zsh', () => {
  // The completion functions of zsh work only interactively; these print what they are called with.
  const stage = `
    compdef() { :; }
    compset() { words[CURRENT]="\${words[CURRENT]#*=}"; }
    _message() { :; }
    _files() { if [[ "$1" == -/ ]]; then print -rl -- *(N/); else print -rl -- *(N); fi | grep -F -- "\${words[CURRENT]}"; }
    compadd() { shift; print -rl -- "$@" | grep -- "^\${words[CURRENT]}"; }
    _describe() { print -rl -- "\${reply[@]%%:*}" | grep -- "^\${words[CURRENT]}"; }
  `
  test.each(lines)('offers $offers after $words', ({ words, offers, not = [] }) => {
    const script = `${stage}\n${zshScript(spots)}\nwords=(libero "$@"); CURRENT=$(( $# + 1 )); _libero`
    expectOffers(shell('zsh', ['-f', '-c', script, 'zsh', ...words]), offers, not)
  })

  test('the script has no syntax errors', () => {
    expect(shell('zsh', ['-f', '-n', '-c', zshScript(spots)]).said).toEqual([])
  })
})

describe.skipIf(!find('fish', 'apt-get install fish'))('fish', () => {
  test.each(lines)('offers $offers after $words', ({ words, offers, not = [] }) => {
    const line = ['libero', ...words].join(' ')
    const { said, folder } = shell('fish', ['--no-config', '-c', `${fishScript(spots)}\ncomplete -C '${line}'`])
    // A folder has its slash, and everything a description.
    expectOffers({ folder, said: said.map((one) => one.split('\t', 1)[0]!.replace(/\/$/, '')) }, offers, not)
  })
})

test('every command, flag and choice is in every script', () => {
  for (const script of [bashScript(spots), zshScript(spots), fishScript(spots)])
    for (const { commands: own, flags } of spots) {
      for (const { name } of own) expect(script).toContain(name)
      for (const { name } of flags) expect(script).toContain(name.slice(2))
    }
})

test('libero completion prints the script, and names the supported shells', async () => {
  expect(await runLibero(['completion', 'bash'])).toMatchObject({ code: 0, out: `${bashScript(spots)}\n`, err: '' })
  expect(await runLibero(['completion', 'zhs'])).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringContaining('did you mean "zsh"'),
  })
  expect(await runLibero(['completion'])).toMatchObject({ code: 2, err: expect.stringContaining('bash, zsh, fish') })
})

interface Offered {
  readonly said: readonly string[]
  readonly folder: string
}

function expectOffers({ said }: Offered, offers: readonly string[], not: readonly string[]): void {
  expect(said).toEqual(expect.arrayContaining([...offers]))
  expect(said.filter((one) => not.includes(one))).toEqual([])
}

/** The output of a shell in a folder with a few files. Fails on any output to stderr. */
function shell(program: string, args: readonly string[]): Offered {
  const { cwd: folder } = fakeIo()
  mkdirSync(join(folder, 'src'))
  for (const name of ['schema one.json', 'other', '*']) writeFileSync(join(folder, name), '')
  const { stdout, stderr } = spawnSync(program, args, {
    cwd: folder,
    encoding: 'utf8',
    timeout: 10_000,
    env: quiet(folder),
  })
  expect(stderr).toBe('')
  return { said: stdout.split('\n').filter(Boolean), folder }
}

const quiet = (folder: string) => ({ PATH: process.env.PATH, HOME: folder, LC_ALL: 'C.UTF-8' })

function filesIn(folder: string): string[] {
  return spawnSync('ls', [folder], { encoding: 'utf8' }).stdout.split('\n').filter(Boolean)
}

/** Whether the shell is installed; if not, prints how to get it, so that the skip is noticed. */
function find(program: string, install: string): boolean {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const isThere = folders.some((folder) => spawnSync(join(folder, program), ['--version']).status === 0)
  if (!isThere) console.warn(`completion: there is no ${program} here, its completions are not tried; ${install}`)
  return isThere
}
