import { openDraft } from '../../src/tui/input/draft.ts'

/** A process that types a draft and waits to be killed, or ends by an uncaught error. */
const [directory = '', folder = '', text = '', end] = process.argv.slice(2)
const draft = openDraft({ directory, folder })
process.stdout.write(JSON.stringify(draft.restored?.[0] ?? null))
draft.save([text, { kind: 'paste', text: 'long '.repeat(50_000) }])
if (end === 'crash') throw new Error('crash')
setInterval(() => {}, 1000)
