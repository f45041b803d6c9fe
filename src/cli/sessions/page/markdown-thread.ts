import { Marked } from 'marked'
import { answerJobs } from '../../../platform/worker-threads.ts'
import { markdownHtml } from './markdown-html.ts'

/** The thread of `markdownRenderer`, which loads the parser. */
answerJobs(({ markdown }: { readonly markdown: string }) => markdownHtml(new Marked().lexer(markdown)))
