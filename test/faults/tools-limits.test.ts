import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { ExecutionContext } from '../../src/core/execution.ts'
import { createSession } from '../../src/index.ts'
import { call } from '../../src/testing/index.ts'
import { openWorld, type World, type WorldOptions } from './tools-kit.ts'

const worlds: World[] = []
afterEach(() => Promise.all(worlds.splice(0).map(({ close }) => close())))

function world(options: WorldOptions = {}): World {
  const opened = openWorld(options)
  worlds.push(opened)
  return opened
}

/** Counts commands, and passes them on. */
function counting(seen: { commands: number }): (real: ExecutionContext) => ExecutionContext {
  return (real) => ({
    ...real,
    exec: (...given) => {
      seen.commands++
      return real.exec(...given)
    },
  })
}

describe('a result that is too big for the conversation', () => {
  const lines = Array.from({ length: 2000 }, (_, i) => `line ${i + 1}`)
  const behavior = { persistThreshold: 4096, persistDir: 'results', dedupReads: false }

  test.each([
    ['shell', { command: 'seq -f "line %g" 1 2000' }, [...lines, '(exit 0, ']],
    ['read_file', { path: 'big.txt' }, lines.map((line, i) => `${i + 1}\t${line}`)],
    [
      'grep',
      { pattern: 'line', output_mode: 'content', head_limit: 0 },
      lines.map((line, i) => `big.txt:${i + 1}:${line}`),
    ],
  ])('of %s goes to a file that the model can read on in', async (tool, input, whole) => {
    const here = world({ behavior })
    here.put('big.txt', `${lines.join('\n')}\n`)
    const { output, isError } = await here.use(tool, input)
    const [, path = ''] =
      new RegExp(`^<persisted-output tool="${tool}" bytes="\\d+" path="(results/[\\w.-]+)">`).exec(output) ?? []
    expect(isError).toBe(false)
    expect(output).toContain(`\n${whole[0]}\n${whole[1]}\n`)
    expect(output.length).toBeLessThan(2300)
    expect(here.held(path)).toContain(whole.join('\n'))
    const page = await here.use('read_file', { path, offset: 1999, limit: 2 })
    expect(page.output).toContain(`1999\t${whole[1998]}\n2000\t${whole[1999]}`)
  })

  test('stays whole where the folder for it may not be used, and that is told', async () => {
    const told: unknown[] = []
    const here = world({ behavior: { ...behavior, persistDir: '../results' } })
    here.agent.hooks.hook('hook:error', ({ hook, error }) => void told.push([hook, (error as { code?: string }).code]))
    const { output, isError } = await here.use('shell', { command: 'seq -f "line %g" 1 2000' })
    expect(output).toContain(lines.join('\n'))
    expect(isError).toBe(false)
    expect(told).toEqual([['persist-results', 'EOUTSIDE']])
    expect(readdirSync(here.around)).toEqual(['project'])
  })

  test('of a failed command is still a failure', async () => {
    const { output, isError } = await world({ behavior }).use('shell', { command: 'seq 1 5000; exit 3' })
    expect(output).toMatch(/^<persisted-output tool="shell"/)
    expect(isError).toBe(true)
  })
})

describe('behavior that counts or repeats calls', () => {
  test('an equal search gets the result it got, without another search', async () => {
    const seen = { commands: 0 }
    const dedupTools = { grep: (input: object) => JSON.stringify(input) }
    const here = world({ wrap: counting(seen), session: await createSession(), behavior: { dedupTools } })
    here.put('a.txt', 'one\n')
    const first = await here.use('grep', { pattern: 'one' })
    const { commands } = seen
    expect([first.output, commands]).toEqual(['a.txt', 1])
    here.put('b.txt', 'one\n')
    expect(await here.use('grep', { pattern: 'one' })).toEqual(first)
    expect(seen.commands).toBe(commands)
    expect((await here.use('grep', { pattern: 'on' })).output).toBe('a.txt\nb.txt')
  })

  test('a budget of commands is one for all of them, and no process is started over it', async () => {
    const seen = { commands: 0 }
    const toolBudgets = { shell: { max: 2, onExceed: 'block' as const } }
    const here = world({ wrap: counting(seen), behavior: { toolBudgets } })
    const echo = (id: string) => call(id, 'shell', { command: `echo ${id}` })
    const answers = await here.play([echo('1')], [echo('2'), echo('3'), call('4', 'list_files')])
    expect([...answers.values()].map(({ output }) => output)).toEqual([
      expect.stringMatching(/^1\n/),
      expect.stringMatching(/^2\n/),
      'Blocked: shell may be called 2 times per run, and that is used up',
      expect.any(String),
    ])
    expect(seen.commands).toBe(2)
  })
})

describe('tools under other names', () => {
  const toolAliases = { shell: 'bash', read_file: 'read' }

  test('are what the model sees and calls, and the log keeps their own', async () => {
    const here = world({ toolAliases })
    here.put('a.txt', 'one\n')
    const answers = await here.play([call('1', 'bash', { command: 'echo hi' })], [call('2', 'read', { path: 'a.txt' })])
    expect(answers.get('1')!.output).toMatch(/^hi\n\(exit 0/)
    expect(answers.get('2')!.output).toBe('1\tone')
    const names = here.provider.requests[0]!.tools.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['bash', 'read', 'write_file']))
    expect(names).not.toEqual(expect.arrayContaining(['shell']))
    const calls = here.agent.turns.flatMap(({ content }) =>
      content.flatMap((block) => ('name' in block ? block.name : [])),
    )
    expect(calls).toEqual(['shell', 'read_file'])
  })

  test('are still followed: a second read is a note, an edit needs a read', async () => {
    const here = world({ toolAliases: { ...toolAliases, edit: 'change' }, behavior: { requireReadBeforeEdit: true } })
    const text = 'one\n'.repeat(100)
    here.put('a.txt', text)
    const change = (id: string) =>
      call(id, 'change', { path: 'a.txt', old_string: 'one', new_string: '1', replace_all: true })
    const read = (id: string) => call(id, 'read', { path: 'a.txt' })
    const answers = await here.play([change('1')], [read('2')], [read('3')], [change('4')])
    expect(answers.get('1')!.output).toBe('Blocked: "a.txt" must be read before it is edited; read it first.')
    expect(answers.get('3')!.output).toMatch(/^\[Unchanged since it was read above/)
    expect(answers.get('4')!.output).toMatch(/^Edited a\.txt \(100 replacements/)
    expect(here.held('a.txt')).toBe('1\n'.repeat(100))
  })

  test('still wait for each other where they must', async () => {
    const here = world({ toolAliases })
    here.put('a.txt', 'one\n')
    const answers = await here.play([
      call('1', 'bash', { command: 'sleep 0.3; echo two > a.txt' }),
      call('2', 'read', { path: 'a.txt' }),
      call('3', 'bash', { command: 'rm a.txt' }),
      call('4', 'read', { path: 'a.txt' }),
    ])
    expect(answers.get('2')!.output).toBe('1\ttwo')
    expect(answers.get('4')!.output).toMatch(/there is no "a\.txt"/)
  })

  test('still stop those beside them when they fail, and say so by the name that the model knows', async () => {
    const here = world({ toolAliases })
    const answers = await here.play([
      call('1', 'bash', { command: 'ls no-such-file' }),
      call('2', 'bash', { command: 'tail -f /dev/null' }),
    ])
    expect(answers.get('1')!.isError).toBe(true)
    expect(answers.get('2')!.output).toMatch(/^Cancelled: bash failed while this call ran\./)
  })

  test('a budget and big results go by their own names', async () => {
    const toolBudgets = { shell: { max: 1, onExceed: 'block' as const } }
    const here = world({ toolAliases, behavior: { toolBudgets, persistThreshold: 100, persistDir: 'out' } })
    const answers = await here.play([call('1', 'bash', { command: 'seq 100' })], [call('2', 'bash', { command: 'ls' })])
    expect(answers.get('1')!.output).toMatch(/^<persisted-output tool="shell"/)
    expect(answers.get('2')!.output).toMatch(/^Blocked: bash may be called 1 time per run/)
    expect(readdirSync(join(here.root, 'out'))).toHaveLength(1)
  })
})
