"""What the promises need, and why. seaspider/guard.py refuses to start if one of them is undone."""

from scrapy.settings import default_settings as _stock

BOT_NAME = "seaspider"
SPIDER_MODULES = ["seaspider.spiders"]
NEWSPIDER_MODULE = "seaspider.spiders"
COMMANDS_MODULE = "seaspider.commands"

# One request in flight, in one order (P3, P5).
CONCURRENT_REQUESTS = 1
CONCURRENT_REQUESTS_PER_DOMAIN = 1
CONCURRENT_ITEMS = 1  # more would reorder records while a pipeline waits
SCHEDULER = "seaspider.scheduler.Scheduler"
TWISTED_REACTOR_ENABLED = True
TWISTED_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"  # the door stands on asyncio
FORCE_CRAWLER_PROCESS = False

# The door paces by address and host, after the answer; Scrapy's own delays would only add chance (P3).
DOWNLOAD_DELAY = 0
DOWNLOAD_DELAY_JITTER = 0
DOWNLOAD_SLOTS: dict[str, object] = {}
AUTOTHROTTLE_ENABLED = False

# One way out (P2).
DOWNLOAD_HANDLERS = {
    "http": "seaspider.handler.DownloadHandler",
    "https": "seaspider.handler.DownloadHandler",
    "file": None,
    "data": None,
    "ftp": None,
    "s3": None,
}
HTTPPROXY_ENABLED = False  # on by default, and obeys http_proxy from the environment
HTTPCACHE_ENABLED = False  # answers without a claim
DOWNLOAD_VERIFY_CERTIFICATES = True  # off by default
DOWNLOAD_FAIL_ON_DATALOSS = True

# Without the ports through which code can be run. Set to None in EXTENSIONS, they would be imported all the same, and
# with them an HTTP server and client.
_PORTS = {"scrapy.extensions.telnet.TelnetConsole", "scrapy.extensions.remote_control.RemoteControl"}
EXTENSIONS_BASE = {path: place for path, place in _stock.EXTENSIONS_BASE.items() if path not in _PORTS}
EXTENSIONS = {
    "seaspider.extension.Seaspider": 0,
    "scrapy.extensions.logstats.LogStats": None,
    "seaspider.progress.Progress": 500,  # in its place; shows, and promises nothing, so a user may swap them
}

# Cookies are off by COOKIES_ENABLED; set to None below, they would bring an HTTP client with them, too.
_COOKIES = "scrapy.downloadermiddlewares.cookies.CookiesMiddleware"
DOWNLOADER_MIDDLEWARES_BASE = {
    path: place for path, place in _stock.DOWNLOADER_MIDDLEWARES_BASE.items() if path != _COOKIES
}
DOWNLOADER_MIDDLEWARES = {
    "seaspider.middlewares.hops.HopMiddleware": 20,
    "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware": None,
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "seaspider.middlewares.robots.RobotsMiddleware": 100,
    "scrapy.downloadermiddlewares.downloadtimeout.DownloadTimeoutMiddleware": None,  # the door keeps DOWNLOAD_TIMEOUT
    "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware": None,
    "scrapy.downloadermiddlewares.useragent.UserAgentMiddleware": 500,  # who is asking is said in every request
    "scrapy.downloadermiddlewares.retry.RetryMiddleware": None,
    "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware": None,
    "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": None,
    "scrapy.downloadermiddlewares.redirect.RedirectMiddleware": None,
    "scrapy.downloadermiddlewares.httpproxy.HttpProxyMiddleware": None,
    "scrapy.downloadermiddlewares.stats.DownloaderStats": None,
    "seaspider.middlewares.wirestats.WireStats": 850,
    "scrapy.downloadermiddlewares.httpcache.HttpCacheMiddleware": None,
}
ROBOTSTXT_OBEY = False  # RobotsMiddleware does it, by status and for each hop (P1, P4, P7)
ROBOTSTXT_USER_AGENT = "seaspider"
ROBOTSTXT_PARSER = "seaspider.robotparser.SeaspiderRobotParser"
RETRY_ENABLED = False  # would ask again at once
REDIRECT_ENABLED = False  # HopMiddleware does it
METAREFRESH_ENABLED = False
COOKIES_ENABLED = False  # hidden state: the order of requests would change the answers
COMPRESSION_ENABLED = False  # the door decodes, strictly; Scrapy's own loses the status of a broken body
REFERER_ENABLED = False

SPIDER_MIDDLEWARES = {
    "scrapy.spidermiddlewares.referer.RefererMiddleware": None,
    "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,  # drops long URLs without a word
    "scrapy.spidermiddlewares.depth.DepthMiddleware": None,
    "scrapy.spidermiddlewares.start.StartSpiderMiddleware": None,  # start() yields nothing
    "scrapy.spidermiddlewares.metacopy.MetaCopyDetectionMiddleware": None,  # a turn's Request is made anew
}
HTTPERROR_ALLOW_ALL = True  # a 404 is an answer
ITEM_PIPELINES = {"seaspider.pipelines.StorePipeline": 1}  # before the user's own

TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False

JOBDIR = None  # the store is the journal; Scrapy's own survives no kill -9

WARN_ON_GENERATOR_RETURN_VALUE = False  # parses the callback's source again for each response

DOWNLOAD_TIMEOUT = 30
DOWNLOAD_MAXSIZE = 32 * 1024 * 1024
DOWNLOAD_WARNSIZE = 0
REDIRECT_MAX_TIMES = 10
DNS_TIMEOUT = 10
LOG_LEVEL = "INFO"
LOG_FORMATTER = "seaspider.logformatter.LogFormatter"
FEED_EXPORT_ENCODING = "utf-8"
