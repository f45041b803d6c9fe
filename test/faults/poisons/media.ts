import type { SessionContentBlock } from '../../../src/types.ts'
import { assistant, called, half, hi, image, loop, type Poison, png, poison, result, text, user } from './kit.ts'

/** An image that is longer than a service takes. */
const oversize = (length: number): SessionContentBlock => image(png().slice(0, 60) + 'A'.repeat(length))

const images = (count: number): SessionContentBlock[] => Array.from({ length: count }, () => image())

const byMost = (rule: string) => ({ 'anthropic-messages': rule, 'openai-responses': rule, 'openai-chat': rule })

const document = (mediaType: string, words: string, name?: string): SessionContentBlock => ({
  type: 'document',
  mediaType,
  data: btoa(words),
  ...(name !== undefined && { name }),
})

export const media: readonly Poison[] = [
  {
    name: 'an image that is too large',
    rule: 'image-size',
    turns: ({ wire }) => [user(oversize(wire.rules.maxMediaLength), text('Look.'))],
    isBig: true,
  },
  poison(
    'images that are not what they say',
    'image-type',
    user(image(png(), 'image/jpeg')),
    assistant(called('c')),
    user(result('c', [image(png(), 'image/gif')])),
  ),
  poison('an image of an unsupported kind', 'image-type', user(image('SUkqAAAA', 'image/tiff'))),
  poison('a text that says it is an image', 'image-data', user(image(btoa('hello, I am a text'), 'image/png'))),
  poison('images whose data is broken', 'image-data', user(image('not base64!'), image(''))),
  poison(
    'images in the result of a call that failed',
    {},
    ...loop(called('c'), result('c', [text('Oops'), image()], { isError: true })),
  ),
  poison(
    '600 images in a message, and 600 in a result',
    byMost('too-many-images'),
    user(...images(600)),
    assistant(called('c')),
    user(result('c', images(600))),
  ),
  poison('an image that the assistant made', byMost('assistant-image'), hi, assistant(image(), text('There.'))),
  poison('a document of an unsupported type', 'document-type', user(document('application/zip', 'PK', 'a.zip'))),
  poison(
    'documents that are no PDF or have nothing in them',
    'document-data',
    user(document('application/pdf', '<html>'), document('text/markdown', ' \n'), document('text/csv', 'a,b')),
  ),
  poison('a document with a broken name', 'document-name', user(document('text/plain', 'words', half))),
  poison(
    'a document that the assistant made',
    'assistant-document',
    hi,
    assistant(document('application/pdf', '%PDF-1.7')),
  ),
]
