import { expect, test } from 'vitest'
import { contentOf, takenApart, writtenText } from './attached-files.ts'

const text = (words: string) => ({ type: 'text', text: words }) as const
const file = text('The file src/main.ts:\n```\nexport const one = 1\n```')

test('WB76 what a person wrote is without the files that the server attached', () => {
  expect(writtenText([text('Explain @src/main.ts'), file, text('and this')])).toBe('Explain @src/main.ts\nand this')
})

test('WB69 a message that is edited again keeps its pictures and files; those that the server attached come anew', () => {
  const image = { type: 'image', mediaType: 'image/png', data: 'aGVsbG8h' } as const
  const notes = text('File notes.txt:\n\nSome notes')
  const { text: written, attached } = takenApart([text('Explain @src/main.ts'), image, notes, file])
  expect(written).toBe('Explain @src/main.ts')
  expect(attached.map(({ name }) => name)).toEqual(['image', 'notes.txt'])
  expect(contentOf(written, attached)).toEqual([text('Explain @src/main.ts'), image, notes])
  expect(takenApart('Only text')).toEqual({ text: 'Only text', attached: [] })
})
