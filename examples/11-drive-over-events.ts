// Drives `libero run --events` as any program could: lines out, lines in, and the approval is ours to give.
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { EventCommand, EventLine } from 'libero/rpc'

const cwd = await mkdtemp(join(tmpdir(), 'libero-example-'))
await writeFile(join(cwd, 'notes.md'), 'Remember teh milk.\n')

const main = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url)) // once installed: spawn('libero', …)
const child = spawn(process.execPath, [main, 'run', '--events', '--provider', 'offline'], {
  cwd,
  env: { ...process.env, LIBERO_HOME: join(cwd, 'home') }, // leaves your own folder alone
  stdio: ['pipe', 'pipe', 'inherit'],
})
const exited = new Promise((resolve) => child.once('close', resolve))
const say = (command: EventCommand) => child.stdin.write(`${JSON.stringify(command)}\n`)

say({ type: 'prompt', message: 'replace teh with the in notes.md' })
for await (const json of createInterface(child.stdout)) {
  const line: EventLine = JSON.parse(json)
  if ('durable' in line) {
    if (!line.durable && line.type === 'text') process.stdout.write(line.delta)
    if (line.durable && line.entry.type === 'turn' && line.entry.turn.role === 'assistant') console.log()
    if (line.durable && line.entry.type === 'run_ended') child.stdin.end() // it ends when nothing more can come
  } else if (line.type === 'request') {
    console.log('May it?', line.payload.description)
    say({ type: 'answer', request: line.request, value: true })
  }
}
console.log('exit code', await exited)
console.log(await readFile(join(cwd, 'notes.md'), 'utf8'))
await rm(cwd, { recursive: true })
