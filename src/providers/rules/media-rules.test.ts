import { describe, expect, test } from 'vitest'
import type { DocumentBlock, ImageBlock } from '../../core/turn.ts'
import type { WireRules } from '../wire.ts'
import { repairDocument, repairImage } from './media-rules.ts'

const rules = {
  imageTypes: ['image/png', 'image/heic'],
  documentTypes: ['application/pdf'],
  maxMediaLength: 2000,
} as unknown as WireRules

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII='
const jpeg = '/9j/4AAQSkZJRgABAQAAAQABAAD/'

describe('an image', () => {
  const given = (data: unknown, mediaType: string) => {
    const told: string[] = []
    const block = { type: 'image', data, mediaType } as ImageBlock
    return { fitted: repairImage(block, rules, (rule) => told.push(rule)), block, told }
  }

  test('that a service accepts stays the same object', () => {
    const { fitted, block, told } = given(png, 'image/png')
    expect(fitted).toBe(block)
    expect(told).toEqual([])
  })

  test('of a type that its bytes do not show keeps its media type', () => {
    expect(given('AAAA', 'image/heic').told).toEqual([])
  })

  test('goes out as what it is', () => {
    expect(given(png, 'image/jpeg')).toMatchObject({
      fitted: { mediaType: 'image/png', data: png },
      told: ['image-type'],
    })
  })

  test.each([
    ['broken', '%%%', 'image/png', 'image-data', '[image left out: its data is broken]'],
    ['missing', undefined, 'image/png', 'image-data', '[image left out: its data is broken]'],
    ['a text', btoa('hello, world'), 'image/png', 'image-data', '[image left out: it is no image/png]'],
    ['too long', `${png.slice(0, 60)}${'A'.repeat(2000)}`, 'image/png', 'image-size', 'too large'],
    ['of a type that is not taken', jpeg, 'image/jpeg', 'image-type', 'does not take image/jpeg'],
    ['of a type that is not taken but says so', jpeg, 'image/png', 'image-type', 'does not take image/jpeg'],
    ['of no type', 'AAAA', 'half \ud83d', 'image-type', 'does not take half \ufffd'],
  ])('that is %s becomes a note', (_, data, type, rule, note) => {
    const { fitted, told } = given(data, type)
    expect(told).toEqual([rule])
    expect(fitted).toMatchObject({ type: 'text', text: expect.stringContaining(note) })
  })
})

describe('a document', () => {
  const given = (words: string, mediaType: string, name?: string) => {
    const told: string[] = []
    const block = {
      type: 'document',
      data: btoa(words),
      mediaType,
      ...(name !== undefined && { name }),
    } as DocumentBlock
    return { fitted: repairDocument(block, rules, (rule) => told.push(rule)), block, told }
  }

  test('that a service reads stays the very same', () => {
    const { fitted, block, told } = given('%PDF-1.7', 'application/pdf', 'a.pdf')
    expect(fitted).toBe(block)
    expect(told).toEqual([])
  })

  test('of text becomes text where a service takes no such documents', () => {
    expect(given('a,b', 'text/csv', 'a.csv').fitted).toEqual({ type: 'text', text: 'a.csv:\na,b' })
    expect(given('{"a":1}', 'application/json').fitted).toEqual({ type: 'text', text: '{"a":1}' })
  })

  test.each([
    ['no PDF', '<html>', 'application/pdf', 'document-data'],
    ['without words', ' \n ', 'text/plain', 'document-data'],
    ['of an unsupported type', 'PK', 'application/zip', 'document-type'],
    ['too long', `%PDF${'x'.repeat(2000)}`, 'application/pdf', 'document-size'],
  ])('that is %s becomes a note', (_, words, type, rule) => {
    const { fitted, told } = given(words, type)
    expect(told).toEqual([rule])
    expect(fitted).toMatchObject({ type: 'text', text: expect.stringContaining('[document left out: ') })
  })

  test.each([
    ['half \ud83d', { name: 'half \ufffd' }],
    ['', {}],
  ])('named %j goes out with %j', (name, named) => {
    const { fitted, told } = given('%PDF-1.7', 'application/pdf', name)
    expect(told).toEqual(['document-name'])
    expect(fitted).toEqual({ type: 'document', mediaType: 'application/pdf', data: btoa('%PDF-1.7'), ...named })
  })
})
