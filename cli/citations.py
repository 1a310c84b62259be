"""Papers of mechanisms and tasks as BibTeX, found by how a part or a task names its source; what we are not sure of is left out."""

import re
from dataclasses import dataclass

WORD = re.compile(r"[a-z][\w-]*")


@dataclass(frozen=True)
class Citation:
    """A BibTeX entry: its kind, its key, and (field, value) pairs in order."""

    kind: str
    key: str
    fields: tuple[tuple[str, str], ...]

    def __str__(self):
        width = max(len(name) for name, _ in self.fields)
        lines = (f"  {name:<{width}} = {{{value}}}," for name, value in self.fields)
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])


def of(kind, key, author, title, year, **more):
    """A Citation."""
    given = {"author": author, "title": title, "year": year} | more
    return Citation(kind, key, tuple((name, str(value)) for name, value in given.items() if value))


SUITE = of("software", "attnprobe", "{The attnprobe authors}", "attnprobe: probes of what an attention mechanism can and cannot do", None)
# how a source is named by `paper` -> its entry
PAPERS = {
    "Vaswani et al. 2017": of(
        "inproceedings", "vaswani2017", "Vaswani, Ashish and others", "Attention Is All You Need", 2017, booktitle="NeurIPS"
    ),
    "Press et al. 2022": of(
        "inproceedings",
        "press2022",
        "Press, Ofir and Smith, Noah A. and Lewis, Mike",
        "Train Short, Test Long: Attention with Linear Biases Enables Input Length Extrapolation",
        2022,
        booktitle="ICLR",
    ),
    "Su et al. 2021": of(
        "article",
        "su2021",
        "Su, Jianlin and others",
        "{RoFormer}: Enhanced Transformer with Rotary Position Embedding",
        2021,
        journal="arXiv",
        eprint="2104.09864",
    ),
    "Lin et al. 2025": of(
        "inproceedings",
        "lin2025",
        "Lin, Zhixuan and Nikishin, Evgenii and He, Xu Owen and Courville, Aaron",
        "Forgetting Transformer: Softmax Attention with a Forget Gate",
        2025,
        booktitle="ICLR",
    ),
    "Leviathan, Kalman, Matias 2024": of(
        "article",
        "leviathan2024",
        "Leviathan, Yaniv and Kalman, Matan and Matias, Yossi",
        "Selective Attention Improves Transformer",
        2024,
        journal="arXiv",
        eprint="2410.02703",
    ),
    "Anagnostidis et al. 2023": of(
        "inproceedings",
        "anagnostidis2023",
        "Anagnostidis, Sotiris and Pavllo, Dario and Biggio, Luca and Noci, Lorenzo and Lucchi, Aurelien and Hofmann, Thomas",
        "Dynamic Context Pruning for Efficient and Interpretable Autoregressive Transformers",
        2023,
        booktitle="NeurIPS",
    ),
    "Martins & Astudillo 2016": of(
        "inproceedings",
        "martins2016",
        "Martins, Andr{\\'e} F. T. and Astudillo, Ram{\\'o}n F.",
        "From Softmax to Sparsemax: A Sparse Model of Attention and Multi-Label Classification",
        2016,
        booktitle="ICML",
    ),
    "Peters, Niculae & Martins 2019": of(
        "inproceedings",
        "peters2019",
        "Peters, Ben and Niculae, Vlad and Martins, Andr{\\'e} F. T.",
        "Sparse Sequence-to-Sequence Models",
        2019,
        booktitle="ACL",
    ),
    "Zhang, Titov & Sennrich 2021": of(
        "inproceedings",
        "zhang2021",
        "Zhang, Biao and Titov, Ivan and Sennrich, Rico",
        "Sparse Attention with Linear Units",
        2021,
        booktitle="EMNLP",
    ),
    "Zuhri et al. 2025": of(
        "article",
        "zuhri2025",
        "Zuhri, Zayd M. K. and Fuadi, Erland Hilman and Aji, Alham Fikri",
        "Softpick: No Attention Sink, No Massive Activations with Rectified Softmax",
        2025,
        journal="arXiv",
        eprint="2504.20966",
    ),
    "Miller 2023": of(
        "misc",
        "miller2023",
        "Miller, Evan",
        "Attention Is Off By One",
        2023,
        url="https://www.evanmiller.org/attention-is-off-by-one.html",
    ),
    "Lu et al. 2025": of(
        "article",
        "lu2025",
        "Lu, Enzhe and others",
        "{MoBA}: Mixture of Block Attention for Long-Context {LLMs}",
        2025,
        journal="arXiv",
        eprint="2502.13189",
    ),
    "Longformer": of(
        "article",
        "beltagy2020",
        "Beltagy, Iz and Peters, Matthew E. and Cohan, Arman",
        "Longformer: The Long-Document Transformer",
        2020,
        journal="arXiv",
        eprint="2004.05150",
    ),
    "Zoology": of(
        "article",
        "arora2023",
        "Arora, Simran and Eyuboglu, Sabri and Timalsina, Aman and Johnson, Isys and Poli, Michael and Zou, James and Rudra, Atri and "
        "R{\\'e}, Christopher",
        "Zoology: Measuring and Improving Recall in Efficient Language Models",
        2023,
        journal="arXiv",
        eprint="2312.04927",
    ),
    "Liu et al. 2023": of(
        "inproceedings",
        "liu2023",
        "Liu, Bingbin and Ash, Jordan T. and Goel, Surbhi and Krishnamurthy, Akshay and Zhang, Cyril",
        "Exposing Attention Glitches with Flip-Flop Language Modeling",
        2023,
        booktitle="NeurIPS",
    ),
    "Zhukov 2026": of(
        "misc",
        "zhukov2026",
        "Zhukov, Maxim",
        "Attention with a Calibrated Off Switch: Causal {FIR} Key Smoothing, the Score-Shift Pathology, and Selective Silence in "
        "Rectified Attention (pn\\_fir\\_tau)",
        2026,
    ),
    "FPA": of("misc", "fpa", None, "{FPA}", None, note="the mechanism's name; its title, authors and year are to be filled in"),
    "stochastic attention": of(
        "article",
        "jin2026",
        "Jin, Zehao and Sui, Yanan",
        "Stochastic Attention: Connectome-Inspired Randomized Routing for Expressive Linear-Time Attention",
        2026,
        journal="arXiv",
        eprint="2604.00754",
    ),
}


def papers(text):
    """The Citations of a source as a part or a task names it; none where it is ours alone, or names something else to tell it apart."""
    named = text.partition("; not ")[0]
    return [entry for name, entry in PAPERS.items() if name in named]


def cited(names):
    """The suite's Citation, then those of tasks and specs, each once, and (name, why) of what has none. ValueError for an unknown name."""
    found, without = {SUITE.key: SUITE}, {}
    for name in names:
        for part, source in sources(name).items():
            entries = papers(source)
            found |= {entry.key: entry for entry in entries}
            without |= {} if entries else {part: source or "of no paper"}
    return list(found.values()), without


def sources(name):
    """What a task, or each part that an arm (`fpa@4`, `rope+softmax/fpa`) names, says of its source: name -> text.

    Raises ValueError for an unknown one.
    """
    from attnprobe.probes.arm import arm
    from attnprobe.probes.registry import nearest
    from attnprobe.probes.spec import DEFAULTS, REGISTRIES, aliases, axis_of, show
    from attnprobe.probes.tasks import TASKS

    if name in TASKS:
        return {name: TASKS.entries[name].facts.get("paper", "")}
    known = [*TASKS, *axis_of(), *aliases()]
    if name not in known and not set(name) & set("+/(>:@"):
        raise ValueError(f"unknown task or mechanism {name!r}{nearest(name, known)}")
    spec = arm(name, 1).spec
    parts = [(axis, part) for side in (spec.trained, spec.judged) for layer in side.layers for axis, part in layer.parts().items()]
    named = {part.name: axis for axis, part in parts if show(part) != DEFAULTS[axis]}
    named = named or {word: axis_of()[word] for word in WORD.findall(name) if word in axis_of()}  # what every spec has is asked for
    return {part: REGISTRIES[axis].entries[part].facts.get("paper", "") for part, axis in named.items()}
