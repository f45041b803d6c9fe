import { type Check, missing, ok } from './check.ts'

const packages: Readonly<Record<string, () => Promise<unknown>>> = {
  marked: () => import('marked'),
  'get-east-asian-width': () => import('get-east-asian-width'),
  '@pydantic/genai-prices': () => import('@pydantic/genai-prices'),
}

/** What makes some things nicer: markdown, wide letters, prices. */
export const optionalPackages: Check = {
  name: 'packages',
  async look() {
    const names = Object.keys(packages)
    const loaded = await Promise.allSettled(names.map((name) => packages[name]!()))
    const lacking = names.filter((_, i) => loaded[i]?.status === 'rejected')
    if (lacking.length === 0) return ok(names.join(', '))
    return missing(`${lacking.join(', ')} cannot be loaded`, `npm install ${lacking.join(' ')}`)
  },
}
