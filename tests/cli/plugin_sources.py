"""Python files that the tests of build-plugin compile, and a C program that uses a plugin."""

MAKER = '''
"""Makes objects and counts them"""
import dselements as ds


@ds.element("bpmake", description="Puts objects on each frame")
class Make(ds.MetaTransform):
    create_meta = True

    def process(self, batch: ds.Batch) -> None:
        for frame in batch.frames:
            for confidence in (0.2, 0.6, 0.9):
                frame.add_object((1, 2, 30, 40), label="car", confidence=confidence)


@ds.element("bpcount", description="Counts objects", klass="Filter/Analyzer/Video")
class Count(ds.MetaTransform):
    def start(self) -> None:
        self.seen = []

    def process(self, batch: ds.Batch) -> None:
        self.seen.append(len(batch.objects))

    def stop(self) -> None:
        print("counted", self.seen)
'''

GATE = """
import dselements as ds


@ds.element("bpgate", description="Removes unsure objects", rank=7)
class Gate(ds.MetaTransform):
    min_confidence = ds.Property(0.5, min=0.0, max=1.0, help="Objects below are removed")

    def process(self, batch: ds.Batch) -> None:
        batch.remove(batch.objects.confidence < self.min_confidence)
"""

PACKAGE = {
    "__init__.py": '"""A package of two elements"""\nfrom .one import One\n__all__ = ["One"]\n',
    "one.py": (
        "import dselements as ds\nfrom bppackage.parts.helper import KEEP\n"
        "from .parts import Two\n"
        "@ds.element('bpone', description='One')\nclass One(ds.MetaTransform):\n"
        "    def process(self, batch):\n        batch.remove(batch.objects.confidence < KEEP)\n"
    ),
    "parts/__init__.py": (
        "import dselements as ds\nfrom . import helper\n"
        "@ds.element('bptwo', description='Two')\nclass Two(ds.MetaTransform):\n"
        "    def process(self, batch):\n        batch.objects.class_id[:] = int(helper.KEEP * 10)\n"
    ),
    "parts/helper.py": "KEEP = 0.5\n",
    "__main__.py": "raise SystemExit('not to be imported')\n",
}

HOST = r"""
#include <pthread.h>
#include <stdio.h>
extern void gst_init(int *, char ***);
extern void *gst_parse_launch(const char *, void **);
extern int gst_element_set_state(void *, int);
extern void *gst_element_get_bus(void *);
extern void *gst_bus_timed_pop_filtered(void *, unsigned long long, int);
struct message { void *type[8]; };
static const char *text;
static void *pipeline;
static void *begin(void *unused) {
    gst_init(NULL, NULL);
    pipeline = gst_parse_launch(text, NULL); /* here the plugins are loaded */
    return unused;
}
int main(int argc, char **argv) {
    pthread_t thread;
    text = argv[argc - 1];
    if (pthread_create(&thread, NULL, begin, NULL)) return 2;
    pthread_join(thread, NULL);
    if (!pipeline) return 3;
    gst_element_set_state(pipeline, 4);
    void *message = gst_bus_timed_pop_filtered(gst_element_get_bus(pipeline), 60000000000ULL, 1);
    gst_element_set_state(pipeline, 1);
    puts(message ? "end of stream" : "nothing");
    return !message;
}
"""
"""Boots Python in a thread that ends before the first buffer."""
