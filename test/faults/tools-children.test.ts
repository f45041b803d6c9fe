import { afterEach, describe, expect } from 'vitest'
import { createSpawnTool } from '../../src/index.ts'
import { call, type Step, texts } from '../../src/testing/index.ts'
import { testInTurns } from '../soak.ts'
import {
  answersOf,
  everyTool,
  longSleep,
  onLinux,
  openWorld,
  processesWith,
  untilGone,
  type World,
} from './tools-kit.ts'

const test = testInTurns(2)

const worlds: World[] = []
afterEach(() => Promise.all(worlds.splice(0).map(({ close }) => close())))

function world(): World {
  const opened = openWorld()
  worlds.push(opened)
  return opened
}

type Roles = Readonly<Record<string, readonly Step[]>>

/** Has a parent ("go") and its children, each known by its task, say their lines; gives what the parent was told. */
async function perform({ agent, provider }: World, roles: Roles) {
  const lines = new Map(Object.entries(roles).map(([role, steps]) => [role, [...steps]]))
  const next: Step = ({ messages }) => {
    const asked = texts(messages).findLast((text) => lines.has(text.replace('user: ', ''))) ?? ''
    const role = asked.replace('user: ', '')
    return lines.get(role)?.shift() ?? new Error(`"${role}" has no more lines`)
  }
  provider.push(...Array<Step>(Object.values(roles).flat().length).fill(next))
  await agent.run({ prompt: 'go' })
  return answersOf(agent.turns)
}

const hire = (id: string, task: string) => call(id, 'spawn', { task })

describe.skipIf(!onLinux)('a child works in the place of its parent (Linux only)', () => {
  test('its files and its jobs are those of the parent', async () => {
    const here = world()
    const answers = await perform(here, {
      go: [
        [call('1', 'shell', { command: 'echo from the parent; exec sleep 600', background: true })],
        [hire('2', 'look')],
        [call('3', 'read_file', { path: 'left.txt' }), call('4', 'shell_output', { job: 2 })],
        'fin',
      ],
      look: [
        [call('c1', 'shell_output', {}), call('c2', 'shell', { command: 'pwd > left.txt' })],
        [call('c3', 'shell', { command: 'echo from the child; exec sleep 600', background: true })],
        'looked',
      ],
    })
    expect(answers.get('2')).toEqual({ output: 'looked', isError: false })
    expect(answers.get('3')!.output).toBe(`1\t${here.root}`)
    expect(answers.get('4')!.output).toMatch(/\(job 2: running for /)
  })

  test('RS-03 a job that it started goes on without it, and ends with the parent', async () => {
    const here = world()
    const sleep = longSleep()
    await perform(here, {
      go: [[hire('1', 'start')], 'fin'],
      start: [[call('c1', 'shell', { command: `setsid ${sleep} & ${sleep}`, background: true })], 'started'],
    })
    expect(processesWith(sleep).length).toBeGreaterThan(0)
    await here.agent.destroy()
    await untilGone(sleep)
  })

  test('what it left running in the foreground ends with its command', async () => {
    const here = world()
    const sleep = longSleep()
    const answers = await perform(here, {
      go: [[hire('1', 'start')], 'fin'],
      start: [[call('c1', 'shell', { command: `setsid ${sleep} & sleep 0.1` })], 'started'],
    })
    expect(answers.get('1')!.output).toBe('started')
    await untilGone(sleep)
  })
})

test('FT-21 two children that edit one file at the same time lose nothing, a hundred times', {
  timeout: 60_000,
}, async () => {
  const here = world()
  const change = (id: string, path: string, from: string, to: string): Step => [
    call(id, 'edit', { path, old_string: from, new_string: to }),
  ]
  for (let round = 0; round < 100; round++) {
    here.put('shared.txt', 'one\ntwo\nthree\n')
    const answers = await perform(here, {
      go: [[hire(`a${round}`, 'left'), hire(`b${round}`, 'right')], 'fin'],
      left: [change('l1', 'shared.txt', 'one', 'uno'), change('l2', 'shared.txt', 'three', 'tre'), 'left done'],
      right: [
        change('r1', './shared.txt', 'two', 'du'),
        change('r2', here.at('shared.txt'), 'du', 'due'),
        'right done',
      ],
    })
    expect([`a${round}`, `b${round}`].map((id) => answers.get(id)!.output)).toEqual(['left done', 'right done'])
    expect(here.held('shared.txt')).toBe('uno\ndue\ntre\n')
  }
})

describe('what goes wrong in a child', () => {
  const calls = [call('2', 'shell', { command: 'tail -n 1 a.txt' }), call('3', 'read_file', { path: 'a.txt' })]

  test('a command that fails stops neither the child nor what runs beside it in the parent', async () => {
    const here = world()
    here.put('a.txt', 'one\n')
    const answers = await perform(here, {
      go: [[hire('1', 'fail'), ...calls], 'fin'],
      fail: [[call('c1', 'shell', { command: 'ls no-such-file' })], 'it failed, I went on'],
    })
    expect(answers.get('1')).toEqual({ output: 'it failed, I went on', isError: false })
    expect(answers.get('2')!.output).toMatch(/^one\n\(exit 0/)
    expect(answers.get('3')!.output).toBe('1\tone')
  })

  test('a command that fails stops those beside it in the child, and none of another child', async () => {
    const here = world()
    const heard: string[] = []
    here.agent.hooks.hook('child:tool:after', ({ name, result }) => void heard.push(`${name}: ${result}`))
    const answers = await perform(here, {
      go: [[hire('1', 'fail'), hire('2', 'work')], 'fin'],
      fail: [
        [call('c1', 'shell', { command: 'ls no-such-file' }), call('c2', 'shell', { command: 'tail -f /dev/null' })],
        'failed',
      ],
      work: [[call('c3', 'shell', { command: 'sleep 0.5; echo worked' })], 'worked'],
    })
    expect([...answers.values()].map(({ output }) => output)).toEqual(['failed', 'worked'])
    expect(heard).toEqual(expect.arrayContaining([expect.stringMatching(/^shell: worked\n/)]))
  })

  test('FT-25 one whose model fails is an error that the parent reads, and those beside it go on', async () => {
    const here = world()
    here.put('a.txt', 'one\n')
    const answers = await perform(here, {
      go: [[hire('1', 'break'), ...calls], 'fin'],
      break: [new Error('the model is gone')],
    })
    expect(answers.get('1')).toMatchObject({
      output: expect.stringMatching(/^Tool error: .*the model is gone/),
      isError: true,
    })
    expect(answers.get('3')!.output).toBe('1\tone')
  })

  test('FT-25 one that loops ends at its limit, what it cost is counted, and the parent goes on', async () => {
    const spawn = createSpawnTool({ preset: { behavior: { maxTurns: 3 } } })
    const here = openWorld({ tools: { ...everyTool, spawn } })
    worlds.push(here)
    const again: Step = () => [call(crypto.randomUUID(), 'list_files')]
    here.provider.push([hire('1', 'loop')], again, again, again, 'fin')
    const stats = await here.agent.run({ prompt: 'go' })
    expect(stats.text).toBe('fin')
    expect(stats.children).toMatchObject([{ turns: 3, stopReason: 'max_turns', totalIn: 30 }])
    expect(stats.totalIn).toBe(50)
    expect(answersOf(here.agent.turns).has('1')).toBe(true)
  })

  test('RS-05 a model that always spawns comes no deeper than three levels', async () => {
    const here = world()
    let id = 0
    const always: Step = ({ tools }) =>
      tools.some(({ name }) => name === 'spawn') && id < 200 ? [hire(`s${++id}`, 'deeper')] : 'at the bottom'
    here.provider.push([hire('0', 'deeper')], ...Array<Step>(1000).fill(always))
    const stats = await here.agent.run({ prompt: 'go', behavior: { maxTurns: 3 } })
    const depthOf = ({ children }: Pick<typeof stats, 'children'>): number =>
      children.length === 0 ? 0 : 1 + Math.max(...children.map(depthOf))
    expect(depthOf(stats)).toBe(3)
  })
})
