import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createAgent, createProcessContext } from '../../src/index.ts'
import { call, scripted, texts } from '../../src/testing/index.ts'
import { glob, grep, shell, shellOutput } from '../../src/tools/index.ts'
import type { ExecutionContext } from '../../src/types.ts'
import { unavailable } from '../bubblewrap-kit.ts'
import { definition, world } from '../workflow/kit.ts'

/** A project with a skill, a secret at home, and a context that notes where commands ran. */
function place(sandbox: 'auto' | 'off' = 'auto') {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'libero-confined-')))
  const [home, cwd] = [join(top, 'home'), join(top, 'project')]
  const secret = join(home, 'secret.txt')
  for (const folder of [home, join(cwd, '.agents/skills/look')]) mkdirSync(folder, { recursive: true })
  writeFileSync(secret, 'the secret')
  writeFileSync(join(cwd, 'a.txt'), 'apples')
  writeFileSync(join(cwd, '.agents/skills/look/SKILL.md'), '---\nname: look\ndescription: Look.\n---\nLook.\n')
  writeFileSync(join(cwd, '.agents/skills/look/look.sh'), `cat ${secret} a.txt\n`)
  vi.stubEnv('HOME', home)
  onTestFinished(() => {
    vi.unstubAllEnvs()
    rmSync(top, { recursive: true, force: true })
  })
  const places: string[] = []
  const here = createProcessContext({ cwd, sandbox })
  const execution: ExecutionContext = {
    ...here,
    exec(handle, command, options) {
      places.push(options?.confinement?.profile ?? 'outside')
      return here.exec(handle, command, options)
    },
  }
  return { cwd, home, secret, places, execution }
}

describe.skipIf(unavailable)('SB01 what was decided binds every command of a call', () => {
  test('of the shell, of background jobs, of searches and of scripts of skills', async () => {
    const { cwd, home, places, execution } = place()
    const look = { command: 'cat ~/s*.txt a.txt' } // a path that is named would be judged, and allowed
    const agent = createAgent({
      provider: scripted(
        [call('1', 'shell', look)],
        [call('2', 'shell', { ...look, background: true })],
        [call('3', 'shell_output', { job: 1, wait: 5000, until: 'end' })],
        [call('4', 'grep', { pattern: 'apples|secret', path: '.' }), call('5', 'glob', { pattern: '**/*.txt' })],
        [call('6', 'skills_use', { name: 'look' })],
        [call('7', 'skills_run_script', { name: 'look', script: 'look.sh' })],
        'Done.',
      ),
      tools: { shell, shellOutput, grep, glob },
      execution,
      skills: { cwd, home, trustProjectSkills: true },
      authority: { mode: 'ask', tools: { shell: { mode: 'auto' }, skills_run_script: { mode: 'auto' } } },
    })
    await agent.run({ prompt: 'Look.' })
    const said = texts(agent.turns).join('\n')
    await agent.destroy()
    expect(said.match(/apples/g)!.length).toBeGreaterThanOrEqual(4)
    expect(said).not.toContain('the secret')
    expect(places).not.toContain('outside')
    expect(places.length).toBeGreaterThanOrEqual(3)
  })

  test('of zx-script', async () => {
    const { secret, places, execution } = place()
    const script = `console.log((await $({ nothrow: true })\`cat ${secret} a.txt\`).stdout)`
    const { workflow, provider } = world([[call('1', 'zx-script', { script })], 'Done.'], {
      definitions: [definition({ toolId: 'zx-script', approval: { mode: 'auto' } })],
      execution,
      authority: { mode: 'ask' }, // the mode of workflows is yolo, which shows the home folder
    })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'Look.')
    const said = JSON.stringify(provider.requests.at(-1)!.messages)
    await workflow.close()
    expect(said).toContain('apples')
    expect(said).not.toContain('the secret')
    expect(places).toEqual(['workspace-write'])
  })
})

test.skipIf(unavailable)(
  'SB04 in yolo a command sees home but no secrets, and can change caches but nothing that runs later',
  async () => {
    const { cwd, home, execution } = place()
    for (const [path, text] of Object.entries({
      '.ssh/id': 'key',
      '.bashrc': 'as it was',
      '.cache/pip/x': 'old',
      '.cache/zsh': 'as it was',
    })) {
      mkdirSync(dirname(join(home, path)), { recursive: true })
      writeFileSync(join(home, path), text)
    }
    execFileSync('git', ['init', '-q'], { cwd })
    const tries = [
      'cat ~/secret.txt ~/.ssh/id', // readable, except for secrets
      'echo new > ~/.cache/pip/x && echo new > ~/.cache/other && echo new > made.txt; echo evil >> ~/.cache/zsh',
      'echo evil >> ~/.bashrc; echo evil > ~/new; echo evil > .git/hooks/pre-commit; git config alias.x "!evil"',
      'D=$HOME; echo evil >> $D/.bashrc; python3 -c "open(\\"$D/.profile\\", \\"w\\")"', // no list of words sees these
    ]
    const agent = createAgent({
      provider: scripted(...tries.map((command, i) => [call(`${i}`, 'shell', { command })]), 'Done.'),
      tools: { shell },
      execution,
      authority: { mode: 'yolo', interactors: [] },
    })
    expect(await agent.run({ prompt: 'Go.' })).toMatchObject({ status: 'completed' })
    const said = texts(agent.turns).join('\n')
    await agent.destroy()
    expect(said).toContain('the secret')
    expect(said).not.toContain('key')
    const read = (path: string): string => readFileSync(path, 'utf8')
    expect([read(join(home, '.cache/pip/x')), read(join(cwd, 'made.txt'))]).toEqual(['new\n', 'new\n'])
    for (const name of ['.bashrc', '.cache/zsh']) expect(read(join(home, name))).toBe('as it was')
    expect(readdirSync(join(home, '.cache')).sort()).toEqual(['pip', 'zsh'])
    expect(readdirSync(home).sort()).toEqual(['.bashrc', '.cache', '.ssh', 'secret.txt'])
    expect(readdirSync(join(cwd, '.git/hooks'))).not.toContain('pre-commit')
    expect(read(join(cwd, '.git/config'))).not.toContain('evil')
  },
)

describe('SB11 for an embedder', () => {
  test('an agent without an authority confines nothing, whatever the context could', async () => {
    const { secret, places, execution } = place()
    const provider = scripted([call('1', 'shell', { command: `cat ${secret}` })], 'Done.')
    const agent = createAgent({ provider, tools: { shell }, execution })
    await agent.run({ prompt: 'Look.' })
    expect(texts(agent.turns).join()).toContain('the secret')
    expect(places).toEqual(['outside'])
    await agent.destroy()
  })

  test('with an authority, off asks about what a sandbox would have confined, and halts without a person', async () => {
    const { places, execution } = place('off')
    const provider = scripted([call('1', 'shell', { command: 'cat *.txt' })], 'Done.')
    const agent = createAgent({ provider, tools: { shell }, execution, authority: { allow: ['shell:cat'] } })
    expect(await agent.run({ prompt: 'Look.' })).toMatchObject({ stopReason: 'permission-required' })
    expect(places).toEqual([])
    await agent.destroy()
  })

  test('required gives no handle where there is no sandbox', async () => {
    const root = createProcessContext({ cwd: '/', sandbox: 'required' })
    await expect(root.spawn()).rejects.toMatchObject({
      code: 'ENOSANDBOX',
      message: expect.stringContaining('the workspace is the root folder'),
    })
  })
})
