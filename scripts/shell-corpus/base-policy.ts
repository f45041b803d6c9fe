import type { AuthoritySettings } from '../../src/authority/rules/settings.ts'

/** What hostile and harmless lines are judged under: RELIABILITY (c), "Conventions". */
export const basePolicy = {
  mode: 'allowlist',
  allow: [
    'shell:ls',
    'shell:cat',
    'shell:grep',
    'shell:rg',
    'shell:fd',
    'shell:fdfind',
    'shell:find',
    'shell:sed',
    'shell:sort',
    'shell:uniq',
    'shell:echo',
    'shell:printf',
    'shell:test',
    'shell:git status',
    'shell:git log',
    'shell:git diff',
    'shell:git grep',
    'shell:npm test',
  ],
  deny: ['shell:curl', 'shell:rm'],
} as const satisfies AuthoritySettings
