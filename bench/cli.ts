import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from '../scripts/build.ts'
import { compare, median, type Result } from './measure.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const rounds = 21

/** How long a person waits for the command line: whole processes, as they are installed, against an empty one. */
export async function cli(): Promise<Result[]> {
  const folder = mkdtempSync(join(tmpdir(), 'libero-bench-'))
  const server = await startService()
  try {
    const problem = await build(join(root, 'dist'))
    if (problem !== undefined) throw new Error(`build: ${problem}`)
    const { port } = server.address() as { port: number }
    const env = prepared(folder, port)
    const bin = join(root, 'bin/libero.js')
    const contenders = [
      ['-e', '0'],
      [bin, '--version'],
      [bin, '--help'],
      [bin, 'run', '--provider', 'mock', 'say hello'],
    ]
    const [floor, version, help, run] = await inTurn(contenders.map((args) => () => elapsed(args, env, folder)))
    return [
      compare('libero --version', version!, floor!, 2, 'start'),
      compare('libero --help', help!, floor!, 2, 'start'),
      compare('libero run, one turn against a loopback service', run!, floor!, 4, 'start'),
    ]
  } finally {
    server.close()
    rmSync(folder, { recursive: true })
  }
}

/** Medians of interleaved rounds, after one that fills the compile cache. */
async function inTurn(contenders: readonly (() => Promise<number>)[]): Promise<number[]> {
  const samples = contenders.map((): number[] => [])
  for (let round = -1; round < rounds; round++)
    for (const [i, contender] of contenders.entries()) {
      const micros = await contender()
      if (round >= 0) samples[i]!.push(micros)
    }
  return samples.map(median)
}

/** A user's own folder with a service in it, and a project. */
function prepared(folder: string, port: number): Record<string, string> {
  const home = join(folder, 'home')
  mkdirSync(home, { mode: 0o700 })
  const providers = { mock: { baseURL: `http://127.0.0.1:${port}/v1`, model: 'mock' } }
  writeFileSync(join(home, 'config.json'), JSON.stringify({ providers }), { mode: 0o600 })
  return { PATH: process.env.PATH ?? '', HOME: folder, LIBERO_HOME: home, NODE_COMPILE_CACHE: join(folder, 'cache') }
}

function elapsed(args: readonly string[], env: Record<string, string>, cwd: string): Promise<number> {
  const before = performance.now()
  const child = spawn(process.execPath, args, { env, cwd, stdio: ['ignore', 'ignore', 'pipe'] })
  let complaint = ''
  child.stderr.on('data', (text) => {
    complaint += text
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0) resolve((performance.now() - before) * 1000)
      else reject(new Error(`libero ${args.slice(1).join(' ')} ended with ${code}: ${complaint}`))
    })
  })
}

/** Speaks just enough of OpenAI's chat API. */
async function startService(): Promise<Server> {
  const chunk = (delta: object, finish: string | null): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(`${chunk({ role: 'assistant', content: 'Hello.' }, null)}${chunk({}, 'stop')}data: [DONE]\n\n`)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}
