import { Marked } from 'marked'
import { answerJobs } from '../../../platform/standing-worker.ts'
import { markdownHtml } from './markdown-html.ts'

/** What the thread of `markdownRenderer` does. The parser is loaded here and nowhere else. */
answerJobs(({ markdown }: { readonly markdown: string }) => markdownHtml(new Marked().lexer(markdown)))
