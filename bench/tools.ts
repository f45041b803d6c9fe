import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { open, readFile as readWhole, rename } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { compare, measure, type Result } from './measure.ts'
import { callTool } from './tools-call.ts'

/** What the file tools cost on files that are too big for comfort. */
export async function tools(): Promise<Result[]> {
  const folder = mkdtempSync(join(tmpdir(), 'libero-bench-'))
  try {
    return [...(await paging(folder)), ...(await editing(folder))]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const line = (i: number): string => `${i} ${'lorem ipsum dolor sit amet '.repeat(3)}\n`

function writeLines(path: string, bytes: number): number {
  const parts: string[] = []
  let size = 0
  let lines = 0
  for (; size < bytes; lines++) {
    parts.push(line(lines))
    size += parts.at(-1)!.length
  }
  writeFileSync(path, parts.join(''))
  return lines
}

/** Pages all over a file of 100 MB, against reading it whole and splitting it. Memory is that of a process of its own. */
async function paging(folder: string): Promise<Result[]> {
  const path = join(folder, 'big.txt')
  const lines = writeLines(path, 100 * 1024 * 1024)
  const small = join(folder, 'small.txt')
  const fewer = writeLines(small, 20 * 1024 * 1024)
  const offsets = [1, lines >> 1, lines - 2000]
  const naive = async (): Promise<void> => {
    for (const offset of offsets) (await readWhole(path, 'utf8')).split('\n').slice(offset, offset + 2000)
  }
  const ours = async (): Promise<void> => {
    for (const offset of offsets) await callTool(folder, 'read_file', { path: 'big.txt', offset })
  }
  const contenders = [
    { label: 'read whole and split', run: naive },
    { label: 'read_file', run: ours },
  ]
  const [least, mine] = await measure(contenders, offsets.length)
  const [flat, big, whole] = [await peakMb(small, fewer), await peakMb(path, lines), await peakMb(path, lines, 'whole')]
  console.log(
    `     memory of a process: ${flat} MB for 20 MB, ${big} MB for 100 MB, ${whole} MB where it is read whole`,
  )
  const value = Number((big / flat).toFixed(2))
  const memory = { name: 'memory of 20 pages: 100 MB against 20 MB', value, goal: 1.2, ok: value <= 1.2 }
  console.log(`${memory.ok ? 'ok  ' : 'MISS'} ${memory.name.padEnd(52)} ${value.toFixed(2).padStart(6)}x (goal 1.2x)`)
  return [compare('read_file: pages of a 100 MB file', mine!, least!, 1, 'page'), memory]
}

/** The peak of a process that pages through a file, or reads it whole. */
async function peakMb(path: string, lines: number, how = 'pages'): Promise<number> {
  const child = fileURLToPath(new URL('tools-child.ts', import.meta.url))
  const args = ['--conditions=libero-source', child, path, String(lines), how]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return Math.round(Number(stdout) / 1024)
}

/** One edit in the middle of 10 MB, against the least that does the same: read, find, write anew, sync, rename. */
async function editing(folder: string): Promise<Result[]> {
  const path = join(folder, 'edit.txt')
  const lines = writeLines(path, 10 * 1024 * 1024)
  const at = lines >> 1
  const change = (word: string): [from: string, to: string] =>
    word === 'lorem' ? [line(at), line(at).replace('lorem', 'LOREM')] : [line(at).replace('lorem', 'LOREM'), line(at)]
  let word = 'lorem'
  const next = (): [string, string] => {
    const pair = change(word)
    word = word === 'lorem' ? 'LOREM' : 'lorem'
    return pair
  }
  const contenders = [
    { label: 'floor', run: () => replaceInPlace(path, ...next()) },
    {
      label: 'edit',
      run: async () => {
        const [old_string, new_string] = next()
        await callTool(folder, 'edit', { path: 'edit.txt', old_string, new_string })
      },
    },
  ]
  const [least, mine] = await measure(contenders, 1)
  return [compare('edit: one line in a 10 MB file', mine!, least!, 4, 'edit')]
}

async function replaceInPlace(path: string, from: string, to: string): Promise<void> {
  const text = await readWhole(path, 'utf8')
  const at = text.indexOf(from)
  if (at < 0) throw new Error('the line is not there')
  const file = await open(`${path}.new`, 'w')
  await file.writeFile(text.slice(0, at) + to + text.slice(at + from.length))
  await file.sync()
  await file.close()
  await rename(`${path}.new`, path)
}
