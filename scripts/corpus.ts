import { stat } from 'node:fs/promises'
import { type Comparison, compare } from './corpus/compare.ts'
import { decodeWithOurs } from './corpus/ours.ts'
import { type Recording, readRecordings } from './corpus/recordings.ts'
import { decodeWithAiSdk } from './corpus/theirs.ts'

const usage = 'usage: npm run corpus -- <folder with *.chunks.txt streams or *.json cassettes>'

/**
 * Decodes recorded traffic with our decoders and with the AI SDK, from the same bytes, and says where they disagree.
 * Exits with 1 where they do, with 2 where there is nothing to read.
 */
async function main([folder, ...rest]: readonly string[]): Promise<number> {
  if (folder === undefined || rest.length > 0) return complain(usage)
  const isFolder = await stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (!isFolder) return complain(`corpus: ${folder} is not a folder\n${usage}`)
  const recordings = await readRecordings(folder)
  if (recordings.length === 0) return complain(`corpus: ${folder} holds no *.chunks.txt and no *.json\n${usage}`)

  const counts = { equal: 0, different: 0, unsupported: 0 }
  for (const recording of recordings) {
    const { state, detail } = await check(recording)
    counts[state]++
    console.log(`${state.padEnd(11)} ${recording.name}${detail === undefined ? '' : `: ${detail}`}`)
  }
  const { equal, different, unsupported } = counts
  console.log(`corpus: equal ${equal}, different ${different}, unsupported ${unsupported}`)
  return different > 0 ? 1 : 0
}

interface Verdict {
  readonly state: 'equal' | 'different' | 'unsupported'
  readonly detail?: string
}

/** A recording may hold the answers to several requests: each is decoded by itself, and all must agree. */
async function check(recording: Recording): Promise<Verdict> {
  if ('unsupported' in recording) return { state: 'unsupported', detail: recording.unsupported }
  if ('unreadable' in recording) return { state: 'different', detail: recording.unreadable }
  const notes = new Set<string>()
  for (const [i, answer] of recording.answers.entries()) {
    let found: Comparison
    try {
      const theirs = await decodeWithAiSdk(recording, answer)
      found = compare(decodeWithOurs(recording, answer), theirs)
    } catch (error) {
      found = { difference: { what: 'crash', ours: String(error), theirs: 'unknown' } }
    }
    if (found.note !== undefined) notes.add(found.note)
    if (!found.difference) continue
    const { what, ours, theirs } = found.difference
    const where = recording.answers.length > 1 ? `answer ${i + 1}, ` : ''
    return { state: 'different', detail: `${where}${what}: ours ${ours} | theirs ${theirs}` }
  }
  return { state: 'equal', ...(notes.size > 0 && { detail: [...notes].join('; ') }) }
}

function complain(text: string): number {
  console.error(text)
  return 2
}

process.exitCode = await main(process.argv.slice(2))
