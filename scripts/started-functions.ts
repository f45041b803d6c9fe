import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseAst } from 'rolldown/parseAst'

/**
 * Writes the functions that `libero run` calls so that V8 compiles them with their file: in parentheses, which it takes for a
 * function that is called at once. Node keeps what was compiled with a file for the next start, and nothing that was compiled
 * later: without this, a quarter of a start is compiling.
 */
export async function compileStartedFunctions(dist: string): Promise<void> {
  const started = await startedFunctions(dist)
  for (const file of started.keys())
    for (const other of importsOf(file))
      if (importedBy(other).has(file))
        throw new Error(`${file} and ${other} import each other; put them into one chunk`)
  const ofRoot = importedBy(join(dist, 'index.js'))
  for (const [file, starts] of started)
    if (!ofRoot.has(file)) writeFileSync(file, inParentheses(readFileSync(file, 'utf8'), starts))
}

/** The files of the root stay as they are: a program may import it without a compile cache, and waits for what is compiled. */
function importedBy(file: string, found: Set<string> = new Set()): Set<string> {
  if (found.has(file)) return found
  found.add(file)
  for (const other of importsOf(file)) importedBy(other, found)
  return found
}

function importsOf(file: string): string[] {
  const imports = readFileSync(file, 'utf8').matchAll(/^(?:import|export) .*?"(\.[^"]+)";$/gm)
  return Array.from(imports, ([, path = '']) => join(dirname(file), path))
}

/** By file: where the functions begin that one run calls, with a service on this machine. */
async function startedFunctions(dist: string): Promise<Map<string, Set<number>>> {
  const folder = mkdtempSync(join(tmpdir(), 'libero-build-'))
  const server = createServer((request, response) => {
    const answer = { choices: [{ index: 0, delta: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }] }
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(`data: ${JSON.stringify(answer)}\n\ndata: [DONE]\n\n`)
    })
  })
  try {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const home = join(folder, 'home')
    mkdirSync(home, { mode: 0o700 })
    const providers = { local: { baseURL: `http://127.0.0.1:${port}/v1`, model: 'local' } }
    writeFileSync(join(home, 'config.json'), JSON.stringify({ providers }), { mode: 0o600 })
    await run([join(dist, 'cli/main.js'), 'run', '--provider', 'local', 'say hello'], folder, {
      ...{ PATH: process.env.PATH, HOME: folder, LIBERO_HOME: home, NODE_V8_COVERAGE: join(folder, 'coverage') },
    })
    return startsIn(join(folder, 'coverage'), pathToFileURL(`${dist}/`).href)
  } finally {
    server.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

function run(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors += text
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`libero run ended with ${code}: ${errors}`)),
    )
  })
}

interface Coverage {
  readonly result: readonly {
    readonly url: string
    readonly functions: readonly {
      readonly ranges: readonly { readonly startOffset: number; readonly count: number }[]
    }[]
  }[]
}

function startsIn(folder: string, base: string): Map<string, Set<number>> {
  const files = new Map<string, Set<number>>()
  for (const name of readdirSync(folder)) {
    const { result }: Coverage = JSON.parse(readFileSync(join(folder, name), 'utf8'))
    for (const { url, functions } of result) {
      if (!url.startsWith(base)) continue
      const called = functions.map(({ ranges }) => ranges[0]!).filter(({ count }) => count > 0)
      files.set(fileURLToPath(url), new Set(called.map(({ startOffset }) => startOffset)))
    }
  }
  return files
}

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
}

/**
 * Arrow functions stay where they are. A declaration becomes a variable, before all that may call it: declarations exist before
 * their file runs too. Methods have no such form.
 */
export function inParentheses(code: string, starts: ReadonlySet<number>): string {
  const { body } = parseAst(code) as unknown as {
    readonly body: readonly (Node & { readonly id?: { name: string } })[]
  }
  const marks: [at: number, mark: string][] = []
  for (const { start, end } of arrowsIn(body)) if (starts.has(start)) marks.push([start, '('], [end, ')'])
  marks.sort(([a, one], [b, other]) => a - b || (one === other ? 0 : one === ')' ? -1 : 1))
  const marked = (from: number, to: number): string => {
    let text = ''
    let at = from
    for (const [place, mark] of marks) {
      if (place < from || place > to) continue
      text += code.slice(at, place) + mark
      at = place
    }
    return text + code.slice(at, to)
  }
  const imports = body.findLast(({ type }) => type === 'ImportDeclaration')
  const top = imports?.end ?? 0
  let declared = ''
  let rest = ''
  let at = top
  for (const { type, start, end, id } of body) {
    if (type !== 'FunctionDeclaration' || !starts.has(start) || start < top) continue
    declared += `\nvar ${id!.name} = (${marked(start, end)});`
    rest += marked(at, start)
    at = end
  }
  return `${code.slice(0, top)}${declared}${rest}${marked(at, code.length)}`
}

function* arrowsIn(value: unknown): Generator<Node> {
  if (typeof value !== 'object' || value === null) return
  if ('type' in value && value.type === 'ArrowFunctionExpression') yield value as Node
  for (const part of Object.values(value)) yield* arrowsIn(part)
}
