import { expect, test } from 'vitest'
import { writtenText } from './attached-files.ts'

const text = (words: string) => ({ type: 'text', text: words }) as const
const file = text('The file src/main.ts:\n```\nexport const one = 1\n```')

test('WB76 what a person wrote is without the files that the server attached', () => {
  expect(writtenText([text('Explain @src/main.ts'), file, text('and this')])).toBe('Explain @src/main.ts\nand this')
})
