import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { compileCache } from './compile-cache.ts'
import { sampleOf } from './soak.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** What a reader should see, line by line; lines in between may be anything. */
const expected: Record<string, readonly (string | RegExp)[]> = {
  '01-hello.ts': [/^It is \d\d:\d\d in UTC\.$/, '2 turns'],
  '02-own-tool.ts': [
    /^user .*What do three apples and a kiwi cost\?/,
    /^assistant .*"count":"3"/,
    /^user .*"3\.60 euros".*"Tool error: no price for kiwi; known: apple, pear","isError":true/,
    /^assistant .*Three apples cost 3\.60 euros; kiwis we do not have\./,
  ],
  '03-hooks.ts': [
    'Cleaning up.',
    '[turn 1: 5 tokens]',
    'I may not delete anything, and the token is hidden.',
    '[turn 2: 5 tokens]',
    '    "output": "Blocked: deleting is not allowed here",',
    '    "output": "TOKEN=<hidden> HOME=/home/me"',
  ],
  '04-real-provider.ts': [
    /^For a real model, set ANTHROPIC_API_KEY or OPENAI_API_KEY or /,
    'Asking script-1 of scripted.',
    'I am only a script, but I can be streamed.',
    '10 tokens in, 5 out, at an unknown price.',
  ],
  '05-coding-agent.ts': [
    '→ shell {"command":"sh test.sh"}',
    '  Helo, Ada!',
    /^ {2}\(exit 1, \d+ms\)$/,
    '  greet.sh:1:echo "Helo, $1!"',
    '  Edited greet.sh (1 replacement, line 1)',
    '  Hello, Ada!',
    /^ {2}\(exit 0, \d+ms\)$/,
    'echo "Hello, $1!"',
  ],
  '06-search-and-edit.ts': [
    '←paint.ts ←notes.md:1',
    '(3 in 2 files)',
    '←Blocked: "paint.ts" must be read before it is edited; read it first.',
    '2\texport const colors = [color]',
    /^←multi_edit error: edit #2 old_string was not found\. The most similar line is 2:$/,
    /^None of the edits was made: "paint\.ts" is as it was\./,
    '←Edited paint.ts: 2 edits, 2 replacements',
    /^←Tool error: ".*secrets\.txt" is outside the folders that tools may use /,
  ],
  '07-durable-session.ts': [
    'suspended: approval needed',
    "deploy wants { to: 'production' }",
    'deploy: deployed to production',
    'It is live. (4 turns, 2 runs)',
  ],
  '08-budget.ts': [
    'cost: 0.0810 of 0.1, the model is told',
    'cost: 0.0945 of 0.1, the end',
    'completed, budget: "Still looking." 7 requests, 0.0945 dollars.',
  ],
  '09-stages.ts': [
    'plan: write deny (sm-grant-token)',
    'build: install allow (sm-grant-token)',
    'completed, machine done after 7 turns',
  ],
  '10-approve.ts': [
    'May it? touch new.txt',
    '1 allow on the allowlist: "shell:ls" (launch)',
    '2 deny denied by "shell:curl" (launch)',
    '3 deny denied by user: not today',
    'I looked, and left it at that.',
  ],
  '11-drive-over-events.ts': [
    'I will replace `teh` with `the` in `notes.md`.',
    'May it? Allow edit?',
    'does: fs.read notes.md; fs.write notes.md',
    'Done. Edited notes.md (1 replacement, line 1).',
    'exit code 0',
    'Remember the milk.',
  ],
  '12-mcp.ts': [
    'mcp_demo_get-sum: allow, allowed by "mcp:demo.*" (launch)',
    '  The sum of 2 and 40 is 42.',
    'mcp_demo_get-sum: the arguments do not fit',
    /^ {2}Long running operation completed\./,
    'mcp_demo_get-env: deny, denied by "mcp:demo.get-env" (launch)',
    'The sum is 42.',
    /^demo: ready, \d+ tools$/,
    /^ {2}prompts: simple-prompt, /,
    /^gone: \w+, 0 tools$/,
  ],
  '13-skills.ts': [
    'found: stocktaking',
    'stocktaking is active, by the model',
    'What there is: apple',
    'To count, run scripts/count.sh with the name of the fruit.',
    '- scripts/count.sh',
    '← 2',
    /^← Blocked: the active skill "stocktaking" allows only Read, .*write_file/,
  ],
  '14-ported-plugin.ts': ['roll: 4 of 6', 'You rolled a four.'],
  '15-single-edits.ts': [
    'May it? multi_edit with 2 edits',
    'Edited app.ini: 1/2 applied · 1 denied',
    'edit #1: applied',
    'edit #2: denied: not in production',
    'applied, denied',
    'Then without debugging.',
    'port = 8080',
    'debug = false',
  ],
  '16-own-terminal.ts': ['libero waits for you:'],
  '17-server.ts': ['My page', 'suspended', "May it? publish { version: '2.0' }", 'Version 2.0 is out.'],
  '18-server-node-http.ts': [
    'made: 201',
    'bob sends: 403',
    'eve reads: 404',
    'entry: details',
    'entry: input',
    'entry: run_ended',
  ],
  '19-web-page.ts': ['page 200', 'sessions, a stranger 401', 'sessions, ada 200'],
  '20-fleet.ts': ['ada: 2 turns', 'bob: 2 turns', 'cyd: 2 turns', '3 runs'],
  'wiki-agent.ts': [
    '← 1 page of "garden"',
    'input-required',
    '← The user chose: Odile',
    'input-required',
    '← Added "Away in July" in "garden" (24 characters).',
    '← The alarm is set for 2099-07-01T08:00:00.000Z.',
    'completed',
    'tags: [[Watering plan]]',
    'title: Away in July',
    '[[Odile Farrow]] waters.',
    '[Alarm Clock] Tell Odile. 2099-07-01T08:00:00.000Z',
  ],
}

/** Examples of a whole way of working, from beginning to end, may take half as much again. */
const longer: Record<string, number> = { 'wiki-agent.ts': 60 }

describe('examples', () => {
  const examples = readdirSync(join(root, 'examples')).filter((name) => name.endsWith('.ts'))

  test('are all known here', () => {
    expect(examples.sort()).toEqual(Object.keys(expected))
  })

  test.concurrent.for(sampleOf(examples, 8))('%s runs as it is', async (name) => {
    const { code, stdout, stderr } = await run(`${scripts.example} examples/${name}`)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(firstMissing(stdout, expected[name]!), stdout).toBeUndefined()
  })

  test.for(examples)('%s fits on one screen', (name) => {
    const lines = readFileSync(join(root, 'examples', name), 'utf8')
      .trimEnd()
      .split('\n')
    expect(lines.length).toBeLessThanOrEqual(longer[name] ?? 40)
  })
})

test('SV50 the page with useChat compiles against React and the AI SDK', { timeout: 60_000 }, async () => {
  const { code, stdout } = await run('node node_modules/typescript/bin/tsc -p examples/use-chat')
  expect([code, stdout]).toEqual([0, ''])
})

describe('npm start', () => {
  // The word makes it the demo also where there is a key, or a local model.
  test('shows a whole run, and no escape codes where no terminal is', async () => {
    const { code, stdout, stderr } = await run(`${scripts.start} demo`)
    expect(code).toBe(0)
    expect(stdout + stderr).not.toContain('\u001b')

    const about: (string | RegExp)[] = [
      /^libero demo\b/,
      'you › Find the failing test and fix it, with `node --test`.',
      /^✗ shell node --test +exit 1 · \d+ lines · /,
      '? Allow edit?',
      /^✓ allowed once: edit src\/cart\.js \(answered by the demo/,
      '  -  return whole + rebate',
      '  +  return whole - rebate',
      /^✓ shell node --test /,
      /^6 turns · .* · \$0 · /,
      'What changed',
      /^The session had \d+ entries in SQLite/,
      'Try next',
    ]
    expect(firstMissing(stderr, about), stderr).toBeUndefined()
    expect(firstMissing(stdout, [/^The tests pass now\./]), stdout).toBeUndefined()
  })
})

/** The first of these lines that does not come after the ones before it. */
function firstMissing(text: string, wanted: readonly (string | RegExp)[]): string | RegExp | undefined {
  const lines = text.split('\n')
  let next = 0
  return wanted.find((one) => {
    const isIt = (line: string) => (typeof one === 'string' ? line === one : one.test(line))
    const found = lines.findIndex((line, i) => i >= next && isIt(line))
    next = found + 1
    return found < 0
  })
}

/** A script of package.json, with the Node that runs these tests and an environment that forces no colours. */
function run(command: string): Promise<{ code: number | string; stdout: string; stderr: string }> {
  const [node, ...args] = command.split(' ')
  if (node !== 'node') throw new Error(`expected a node command, got ${command}`)
  return new Promise((resolve) => {
    const options = { cwd: root, env: { PATH: process.env.PATH, ...compileCache }, timeout: 20_000 }
    const child = execFile(process.execPath, args, options, (error, stdout, stderr) =>
      resolve({ code: error ? (error.code ?? String(error.signal)) : 0, stdout, stderr }),
    )
    // An example that reads lines ends when there are no more.
    child.stdin?.end()
  })
}
